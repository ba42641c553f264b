package codex

import (
	"errors"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// fork asks a copy of the session that leaves no file, or a new session that leaves none. It has no hooks, and no tools
// that run a command; a tool that is left finds a folder to which it cannot write, and nobody who could allow more.
func fork(s runtimes.ForkSpec) (runtimes.ForkCommand, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return runtimes.ForkCommand{}, errors.New("no command: set runtimes.codex.command")
	case s.SessionID != "" && !runtimes.UUID().MatchString(s.SessionID):
		return runtimes.ForkCommand{}, fmt.Errorf("session id %q is not a UUID", s.SessionID)
	}
	argv := append(slices.Clone(s.Command), "exec")
	for _, kv := range slices.Concat(settings, [][2]string{{"sandbox_mode", `"read-only"`}, {"approval_policy", `"never"`}}) {
		argv = append(argv, "-c", kv[0]+"="+kv[1])
	}
	for _, feature := range []string{"shell_tool", "unified_exec", "apps", "goals", "view_image"} {
		argv = append(argv, "--disable", feature)
	}
	if s.SessionID != "" {
		argv = append(argv, "fork", "--ephemeral", "--skip-git-repo-check", "--json", s.SessionID, "-")
	} else {
		argv = append(argv, "--ephemeral", "--skip-git-repo-check", "--json", "-")
	}
	return runtimes.ForkCommand{Argv: argv, Stdin: []byte(s.Prompt)}, nil
}

// forkEvent has the fields of an event of a one-shot that readAnswer needs.
type forkEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
	Item struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"item"`
}

// readAnswer adds what an event of the output says. The CLI goes on after some errors, and says whether the turn has failed.
func readAnswer(a *runtimes.Answer, e *forkEvent) {
	switch e.Type {
	case "item.completed":
		if e.Item.Type == "agent_message" {
			a.Text("", e.Item.Text)
		}
	case "error":
		a.Fail(runtimes.WithoutBody(e.Message))
	case "turn.failed":
		if e.Error.Message != "" {
			a.Fail(runtimes.WithoutBody(e.Error.Message))
		}
	case "turn.completed":
		a.Fail()
		a.End(true)
	}
}

// queue puts a text into the CLI's own queue of a session. The session looks there every ten seconds.
func queue(command []string, session, text string) []string {
	return append(slices.Clone(command), "queue", "--thread", session, "--message="+text)
}
