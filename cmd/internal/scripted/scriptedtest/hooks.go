package scriptedtest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// unsent names for each hook the misbehaviour that keeps the agent from sending it.
var unsent = map[string]string{"SessionStart": "no-session-start", "UserPromptSubmit": "no-prompt-hook", "Stop": "no-stop"}

// run runs a command of the agent. If the command is a hook, run changes or drops the hook as the misbehaviours say.
func (s *script) run(ctx context.Context, c scripted.Command) scripted.Result {
	var payload map[string]any
	_ = json.Unmarshal(c.Stdin, &payload) // other commands get other input or none
	event, _ := payload["hook_event_name"].(string)
	b := s.inTurn()
	if event == "UserPromptSubmit" { // the hook of a queued prompt belongs to no turn
		b = s.now()
	}
	if b.has(unsent[event]) {
		return scripted.Result{}
	}
	if event == "Stop" && b.has("no-final-message") {
		delete(payload, "last_assistant_message")
		c.Stdin, _ = json.Marshal(payload) // the payload was JSON, so this cannot fail
	}
	if event == "UserPromptSubmit" && b.has("held-prompt") {
		pause(ctx, b.duration("held-prompt", 0))
	}
	got := s.process.Run(ctx, c)
	if event == "UserPromptSubmit" && b.has("refuse-prompt") { // another hook, which Claude Code runs beside ours
		pause(ctx, b.duration("refuse-prompt", 0))
		return scripted.Result{Code: 2, Stderr: []byte("the gate is closed")}
	}
	if event == "Stop" && b.has("stop-twice") {
		s.process.Run(ctx, c)
	}
	return got
}

// pause waits, but not beyond ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// childHooks runs this program a second time, in print mode, as an agent runs `claude -p` by a shell tool. The child
// inherits the environment and has the same settings.
func (s *script) childHooks(ctx context.Context) error {
	argv := append(s.self[:len(s.self):len(s.self)], "-p", "--settings", s.opt.Settings, "a question of the agent's own")
	env := append(s.process.Environ[:len(s.process.Environ):len(s.process.Environ)], "SCRIPTED_AGENT=", "SCRIPTED_AGENT_FILE=")
	return s.process.Run(ctx, scripted.Command{Argv: argv, Environ: env}).Err
}
