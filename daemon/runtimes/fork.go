package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ForkSpec is one question to a copy of a session. The session itself does not change.
type ForkSpec struct {
	Command      []string // the program and its fixed arguments, as configured
	SessionID    string   // the session to copy
	SettingsJSON string   // settings for this question alone
	Prompt       string
}

// Fork returns the argument list and the standard input of the question. It does not name the model, the
// system prompt or the tools, because the session has recorded them. So the request begins with the same
// prefix that the provider has cached (compared request by request on 2.1.329). Another model or fewer
// tools would change that prefix; the permission mode dontAsk does not. With --no-session-persistence the
// copy of the session leaves no file.
func (claude) Fork(s ForkSpec) (argv []string, stdin []byte, err error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return nil, nil, errors.New("no command: set runtimes.claude.command")
	case !uuid().MatchString(s.SessionID):
		return nil, nil, fmt.Errorf("session id %q is not a UUID", s.SessionID)
	}
	argv = append(slices.Clone(s.Command), "-p", "--resume", s.SessionID, "--fork-session", "--no-session-persistence",
		"--output-format", "stream-json", "--verbose", "--permission-mode", "dontAsk")
	if s.SettingsJSON != "" {
		argv = append(argv, "--settings", s.SettingsJSON)
	}
	return argv, []byte(s.Prompt), nil
}

// forkLine has the fields of one line of the answer's stream that ForkAnswer needs.
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

// ForkAnswer reads the output of the command that Fork returned. It returns the texts of the model's
// messages, in order. It joins the text blocks of one message by newlines. It does not take the result line's
// text, because that line has only the last block. A message without text is left out, so the list may be empty. ForkAnswer fails if
// the runtime reports an error, or if the output ends before its result line.
func (claude) ForkAnswer(stdout []byte) ([]string, error) {
	var texts []string
	message, ended := "", false
	for raw := range bytes.Lines(stdout) {
		var l forkLine
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		switch {
		case l.Type == "assistant" && !l.Trouble && l.Message.Model != synthetic && l.Parent == nil:
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
			return nil, errors.New(firstOf(strings.Join(l.Errors, "; "), l.Result, l.Subtype, "unknown error"))
		case l.Type == "result":
			ended = true
		}
	}
	if !ended {
		return nil, errors.New("it ended without a result")
	}
	return texts, nil
}

// firstOf returns the first text that is not blank, as one line.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}
