package claude

import (
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

// readAnswer adds what an event of the output says. It does not take the result's text, because that has only the last block of the last
// message.
func readAnswer(a *runtimes.Answer, l *forkLine) {
	switch {
	case l.Type == "assistant" && !l.Trouble && l.Message.Model != runtimes.Synthetic && l.Parent == nil:
		for _, b := range l.Message.Content {
			if b.Type == "text" {
				a.Text(l.Message.ID, b.Text)
			}
		}
	case l.Type == "result" && (l.IsError || l.Subtype != "success"):
		a.Fail(strings.Join(l.Errors, "; "), l.Result, l.Subtype)
	case l.Type == "result":
		a.End(true)
	}
}
