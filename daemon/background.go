package daemon

import (
	"slices"
	"strings"

	"github.com/understudyd/understudy/hooks"
)

// What runs beside the turns of an agent, as its last Stop has told: sub-agents, which make it go on by itself and whose work its
// document is to mention; shell commands, such as a server, which may run for ever; and prompts that its session has scheduled.

// Background is what runs beside the turns of an agent.
type Background struct {
	Tasks []hooks.Task `json:"tasks"`
	Crons []hooks.Cron `json:"crons"`
}

// BackgroundPolicy says what a handoff does while only shell commands of its agent run in the background.
type BackgroundPolicy string

// The policies.
const (
	BackgroundWarn BackgroundPolicy = "warn" // it goes on, and a warning names the commands
	BackgroundWait BackgroundPolicy = "wait" // it waits for their end
)

// backgroundOf returns what a Stop tells of the background; nil: nothing runs there.
func backgroundOf(p *hooks.Payload) *Background {
	if len(p.Tasks) == 0 && len(p.Crons) == 0 {
		return nil
	}
	return &Background{Tasks: p.Tasks, Crons: p.Crons}
}

// ShellsOf returns the shell commands that an agent has in the background.
func ShellsOf(a *Agent) (shells []hooks.Task) {
	if a.Background == nil {
		return nil
	}
	for _, t := range a.Background.Tasks {
		if t.Type == hooks.TaskShell {
			shells = append(shells, t)
		}
	}
	return shells
}

// AwaitedTasks returns how many of the background tasks of an agent a handoff waits for. A task of a kind that nobody knows is taken
// for one that does work.
func AwaitedTasks(a *Agent, policy BackgroundPolicy) int {
	if policy == BackgroundWait {
		return a.BackgroundTasks
	}
	return max(0, a.BackgroundTasks-len(ShellsOf(a)))
}

// withoutTask returns the background without the task that has ended.
func (b *Background) withoutTask(notification string) *Background {
	if b == nil {
		return nil
	}
	left := *b
	left.Tasks = slices.DeleteFunc(slices.Clone(b.Tasks), func(t hooks.Task) bool {
		return t.ID != "" && strings.Contains(notification, "<task-id>"+t.ID+"</task-id>")
	})
	return &left
}
