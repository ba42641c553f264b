package opencode

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// oneShot is the name of the agent of OpenCode that answers a question without tools.
const oneShot = "understudy"

// ask asks a new session a question. The session is in a database of its own, so that the user's list of sessions does
// not show it. It has no tools: the rules of an agent come after those of the user's settings, and the last one holds. It runs
// in a folder of its own, because a project's settings may start programs.
//
// A copy of a session is made by the agent's own server.
func ask(s runtimes.ForkSpec) (runtimes.ForkCommand, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return runtimes.ForkCommand{}, errors.New("no command: set runtimes.opencode.command")
	case s.SessionID != "":
		return runtimes.ForkCommand{}, errors.New("a session of OpenCode is copied by its server")
	}
	dir := filepath.Join(s.Dir, "oneshot")
	conf := filepath.Join(dir, "opencode.json")
	return runtimes.ForkCommand{
		Argv:  append(slices.Clone(s.Command), "run", "--format", "json", "--pure", "--title", "handoff", "--agent", oneShot),
		Stdin: []byte(s.Prompt), Dir: dir,
		Env: []string{
			"OPENCODE_CONFIG=" + conf, "OPENCODE_DB=" + filepath.Join(dir, "opencode.db"), "OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_DISABLE_PROJECT_CONFIG=1",
		},
		Files: []runtimes.File{{Path: conf, Content: runtimes.Marshal(map[string]any{
			"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled", "compaction": map[string]bool{"auto": false},
			"agent": map[string]any{oneShot: map[string]any{"mode": "primary", "permission": map[string]string{"*": "deny"}}},
		})}},
	}, nil
}

// forkEvent has the fields of an event of a one-shot that readAnswer needs.
type forkEvent struct {
	Type  string `json:"type"`
	Error *Error `json:"error"`
	Part  struct {
		MessageID string `json:"messageID"`
		Text      string `json:"text"`
		Reason    string `json:"reason"`
	} `json:"part"`
}

// readAnswer adds what an event of the output says.
func readAnswer(a *runtimes.Answer, e *forkEvent) {
	switch {
	case e.Type == "error" && e.Error != nil:
		a.Fail(e.Error.Data.Message, e.Error.Name)
	case e.Type == "step_finish":
		a.End(e.Part.Reason != "tool-calls")
	case e.Type == "text":
		a.Text(e.Part.MessageID, e.Part.Text)
	}
}
