package opencode

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

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

// readAnswer returns the texts of the model's messages, in order. The output has the events of the one-shot, one on
// each line.
func readAnswer(stdout []byte) ([]string, error) {
	var texts []string
	message, ended := "", false
	for line := range strings.Lines(string(stdout)) {
		var e struct {
			Type  string `json:"type"`
			Error *Error `json:"error"`
			Part  struct {
				MessageID string `json:"messageID"`
				Text      string `json:"text"`
				Reason    string `json:"reason"`
			} `json:"part"`
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch {
		case e.Type == "error" && e.Error != nil:
			return nil, errors.New(runtimes.FirstOf(e.Error.Data.Message, e.Error.Name, "unknown error"))
		case e.Type == "step_finish":
			ended = e.Part.Reason != "tool-calls"
		case e.Type != "text" || strings.TrimSpace(e.Part.Text) == "":
		case e.Part.MessageID == message && len(texts) > 0:
			texts[len(texts)-1] += "\n" + e.Part.Text
		default:
			message, texts = e.Part.MessageID, append(texts, e.Part.Text)
		}
	}
	if !ended {
		return nil, errors.New("it ended without a result")
	}
	return texts, nil
}
