package scriptedtest

import (
	"context"
	"encoding/json"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// unsent are the misbehaviours that keep a hook from being sent.
var unsent = map[string]string{"SessionStart": "no-session-start", "UserPromptSubmit": "no-prompt-hook", "Stop": "no-stop"}

// run runs a command of the agent. If the command is a hook, run does with it what the misbehaviours say.
func (s *script) run(ctx context.Context, c scripted.Command) scripted.Result {
	var payload map[string]any
	_ = json.Unmarshal(c.Stdin, &payload) // other commands get other things, or nothing
	event, _ := payload["hook_event_name"].(string)
	b := s.inTurn()
	if event == "UserPromptSubmit" { // a queued prompt's belongs to no turn
		b = s.now()
	}
	if b.has(unsent[event]) {
		return scripted.Result{}
	}
	if event == "Stop" && b.has("no-final-message") {
		delete(payload, "last_assistant_message")
		c.Stdin, _ = json.Marshal(payload) // it was JSON
	}
	got := s.process.Run(ctx, c)
	if event == "Stop" && b.has("stop-twice") {
		s.process.Run(ctx, c)
	}
	return got
}

// childHooks runs this program once more in print mode, as an agent runs `claude -p` by a shell tool: the child inherits
// the environment and has the same settings.
func (s *script) childHooks(ctx context.Context) error {
	argv := append(s.self[:len(s.self):len(s.self)], "-p", "--settings", s.opt.Settings, "a question of the agent's own")
	env := append(s.process.Environ[:len(s.process.Environ):len(s.process.Environ)], "SCRIPTED_AGENT=", "SCRIPTED_AGENT_FILE=")
	return s.process.Run(ctx, scripted.Command{Argv: argv, Environ: env}).Err
}
