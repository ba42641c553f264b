package intake

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
)

// TestBackgroundIsToldApart: a handoff waits for sub-agents and for what it does not know; for shell commands only if it is set to.
// An agent of an older daemon has a number alone.
func TestBackgroundIsToldApart(t *testing.T) {
	t.Parallel()
	shell, sub := hooks.Task{ID: "b1", Type: "shell", Command: "npm run dev"}, hooks.Task{ID: "a1", Type: "subagent"}
	for name, tt := range map[string]struct {
		a          daemon.Agent
		warn, wait int
	}{
		"nothing":            {daemon.Agent{}, 0, 0},
		"a server":           {daemon.Agent{AgentTurn: daemon.AgentTurn{BackgroundTasks: 1, Background: &daemon.Background{Tasks: []hooks.Task{shell}}}}, 0, 1},
		"a sub-agent":        {daemon.Agent{AgentTurn: daemon.AgentTurn{BackgroundTasks: 1, Background: &daemon.Background{Tasks: []hooks.Task{sub}}}}, 1, 1},
		"both":               {daemon.Agent{AgentTurn: daemon.AgentTurn{BackgroundTasks: 2, Background: &daemon.Background{Tasks: []hooks.Task{sub, shell}}}}, 1, 2},
		"a kind of tomorrow": {daemon.Agent{AgentTurn: daemon.AgentTurn{BackgroundTasks: 1, Background: &daemon.Background{Tasks: []hooks.Task{{Type: "monitor"}}}}}, 1, 1},
		"an older row":       {daemon.Agent{AgentTurn: daemon.AgentTurn{BackgroundTasks: 2}}, 2, 2},
	} {
		if warn, wait := daemon.AwaitedTasks(&tt.a, daemon.BackgroundWarn), daemon.AwaitedTasks(&tt.a, daemon.BackgroundWait); warn != tt.warn || wait != tt.wait {
			t.Errorf("%s: %d tasks, %d if it waits for all", name, warn, wait)
		}
	}
}

// TestStopTellsTheBackground: the Stop of the real CLI lists tasks and scheduled prompts. The end of a task takes it off.
func TestStopTellsTheBackground(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.takes("Stop", map[string]any{"background_tasks": []map[string]any{
		{"id": "b1", "type": "shell", "status": "running", "description": "test", "command": "sleep 600"},
		{"id": "a1", "type": "subagent", "status": "running", "description": "sub", "agent_type": "general-purpose"},
	}, "session_crons": []map[string]any{{"id": "7", "schedule": "*/5 * * * *", "recurring": true, "prompt": "check the deploy"}}})
	warnings := strings.Join(sight.BackgroundWarnings(h.agent, false), " ")
	holds(t, "warnings", warnings, "‹sleep 600›", "end with it", "‹check the deploy› at */5 * * * *")
	if kept := strings.Join(sight.BackgroundWarnings(h.agent, true), " "); strings.Contains(kept, "end with it") {
		t.Errorf("of an agent that stays: %s", kept)
	}
	h.takes("UserPromptSubmit", map[string]any{"prompt": "<task-notification>\n<task-id>a1</task-id>", "prompt_id": "q"})
	if tasks := h.agent.Background.Tasks; daemon.AwaitedTasks(h.agent, daemon.BackgroundWarn) != 0 || !slices.ContainsFunc(tasks, func(t hooks.Task) bool { return t.ID == "b1" }) || len(tasks) != 1 {
		t.Errorf("after the sub-agent's end: %+v", tasks)
	}
	h.takes("Stop", map[string]any{"background_tasks": []any{}, "session_crons": "unheard of"})
	if h.agent.Background != nil || len(sight.BackgroundWarnings(h.agent, false)) != 0 {
		t.Errorf("in the end: %+v", h.agent.Background)
	}
}
