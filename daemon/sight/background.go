package sight

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// maxTask is how much of a command or a prompt a warning quotes, in runes.
const maxTask = 120

// BackgroundWarnings names what the session of an agent leaves behind when the agent is handed over: commands, which end with it
// unless it is kept, and prompts that nobody schedules any more.
func BackgroundWarnings(a *daemon.Agent, kept bool) (warnings []string) {
	if shells := daemon.ShellsOf(a); len(shells) > 0 {
		ends := "end with it: start again what is still needed"
		if kept {
			ends = "go on in its session"
		}
		names := make([]string, len(shells))
		for i, t := range shells {
			names[i] = words.Quote(words.Clip(words.Line(t.Command), maxTask))
		}
		warnings = append(warnings, fmt.Sprintf("Commands of agent %d run in the background and %s: %s.", a.ID, ends, strings.Join(names, ", ")))
	}
	if a.Background == nil || len(a.Background.Crons) == 0 {
		return warnings
	}
	names := make([]string, len(a.Background.Crons))
	for i, c := range a.Background.Crons {
		names[i] = fmt.Sprintf("%s at %s", words.Quote(words.Clip(words.Line(c.Prompt), maxTask)), words.Line(c.Schedule))
	}
	ends := "end with it: schedule again what is still needed"
	if kept {
		ends = "go on there"
	}
	return append(warnings, fmt.Sprintf("The session of agent %d has scheduled prompts, which %s: %s.", a.ID, ends, strings.Join(names, ", ")))
}
