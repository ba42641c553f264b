package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// fork does not name the model, the
// system prompt or the tools, because the session has recorded them. So the request begins with the same
// prefix that the provider has cached (compared request by request on 2.1.329). Another model or fewer
// tools would change that prefix; the permission mode dontAsk does not. It names the thinking level, because a copy would
// otherwise answer with the CLI's own. With --no-session-persistence the copy of the session leaves no file.
//
// It keeps the definitions of the tools for the same reason; the hook in the settings refuses each call of a tool. Without
// DISABLE_AUTO_COMPACT, the fork of a session that is nearly full would compact first, and answer from the summary.
func fork(s runtimes.ForkSpec) (runtimes.ForkCommand, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return runtimes.ForkCommand{}, errors.New("no command: set runtimes.claude.command")
	case s.SessionID != "" && !runtimes.UUID().MatchString(s.SessionID):
		return runtimes.ForkCommand{}, fmt.Errorf("session id %q is not a UUID", s.SessionID)
	}
	argv := append(slices.Clone(s.Command), "-p")
	if s.SessionID != "" {
		argv = append(argv, "--resume", s.SessionID, "--fork-session")
	}
	argv = append(argv, "--no-session-persistence", "--output-format", "stream-json", "--verbose", "--permission-mode", "dontAsk")
	if s.Effort != "" {
		argv = append(argv, "--effort", s.Effort)
	}
	settings := s.SettingsJSON
	if settings == "" && s.Binary != "" {
		text, err := hooks.OneShotSettings(s.Binary)
		if err != nil {
			return runtimes.ForkCommand{}, err
		}
		settings = string(text)
	}
	if settings != "" {
		argv = append(argv, "--settings", settings)
	}
	return runtimes.ForkCommand{Argv: argv, Stdin: []byte(s.Prompt), Env: []string{"DISABLE_AUTO_COMPACT=1"}}, nil
}

// forkLine has the fields of one line of the answer's stream that readAnswer needs.
type forkLine struct {
	Type    string   `json:"type"`
	Parent  *string  `json:"parent_tool_use_id"` // not nil in a sub-agent's message
	IsError bool     `json:"is_error"`           // only in the line of the type result
	Trouble bool     `json:"is_api_error_message"`
	Subtype string   `json:"subtype"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Message struct {
		ID      string `json:"id"`
		Model   string `json:"model"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// readAnswer returns the texts of the model's
// messages, in order. It joins the text blocks of one message by newlines. It does not take the result line's
// text, because that line has only the last block. A message without text is left out, so the list may be empty. It fails if
// the runtime reports an error, or if the output ends before its result line.
func readAnswer(stdout []byte) ([]string, error) {
	var texts []string
	message, ended := "", false
	for raw := range bytes.Lines(stdout) {
		var l forkLine
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		switch {
		case l.Type == "assistant" && !l.Trouble && l.Message.Model != runtimes.Synthetic && l.Parent == nil:
			for _, b := range l.Message.Content {
				switch {
				case b.Type != "text" || strings.TrimSpace(b.Text) == "":
				case l.Message.ID == message:
					texts[len(texts)-1] += "\n" + b.Text
				default:
					message, texts = l.Message.ID, append(texts, b.Text)
				}
			}
		case l.Type == "result" && (l.IsError || l.Subtype != "success"):
			return nil, errors.New(runtimes.FirstOf(strings.Join(l.Errors, "; "), l.Result, l.Subtype, "unknown error"))
		case l.Type == "result":
			ended = true
		}
	}
	if !ended {
		return nil, errors.New("it ended without a result")
	}
	return texts, nil
}
