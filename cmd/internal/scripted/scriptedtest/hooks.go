package scriptedtest

import (
	"context"
	"encoding/json"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

// run runs a command of the agent. The misbehaviours may drop the hook of the end of a turn.
func (s *script) run(ctx context.Context, c scripted.Command) scripted.Result {
	var payload map[string]any
	_ = json.Unmarshal(c.Stdin, &payload) // other commands get other input or none
	event, _ := payload["hook_event_name"].(string)
	if event == "Stop" && s.inTurn().has("no-stop") {
		return scripted.Result{}
	}
	return s.process.Run(ctx, c)
}

// childHooks runs this program a second time, in print mode, as an agent runs `claude -p` by a shell tool. The child
// inherits the environment and has the same settings.
func (s *script) childHooks(ctx context.Context) error {
	argv := append(s.self[:len(s.self):len(s.self)], "-p", "--settings", s.opt.Settings, "a question of the agent's own")
	env := append(s.process.Environ[:len(s.process.Environ):len(s.process.Environ)], "SCRIPTED_AGENT=", "SCRIPTED_AGENT_FILE=")
	return s.process.Run(ctx, scripted.Command{Argv: argv, Environ: env}).Err
}
