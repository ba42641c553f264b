package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// noTools is a policy that refuses every tool. The CLI then offers none to the model.
const noTools = "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 999\n"

// ownState are what the home of a one-shot does not share with the user's: the lists of sessions and of projects.
var ownState = []string{"tmp", "history", "projects.json"}

// ask asks a new session a question. It has a home of its own with the user's settings and log-in, so that the user's list
// of sessions does not show it. It has no tools, no hooks, no extensions and no MCP servers, and it runs in that home, because
// a project's settings may start programs.
func ask(s runtimes.ForkSpec) (runtimes.ForkCommand, error) {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return runtimes.ForkCommand{}, errors.New("no command: set runtimes.gemini.command")
	case s.SessionID != "":
		return runtimes.ForkCommand{}, errors.New("a session of Gemini CLI cannot be copied")
	}
	home := filepath.Join(s.Dir, "oneshot")
	policy := filepath.Join(home, "policy.toml")
	settings, err := mergeSettings(s.User.Settings, map[string]any{
		"general":          map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"hooksConfig":      map[string]any{"enabled": false},
		"adminPolicyPaths": []any{policy},
	}, false)
	if err != nil {
		return runtimes.ForkCommand{}, fmt.Errorf("one-shot: %w", err)
	}
	links := slices.DeleteFunc(ownHome.Links(home, s.User), func(l runtimes.Link) bool {
		name, in := strings.CutPrefix(l.Path, filepath.Join(home, ownHome.Dir)+string(filepath.Separator))
		return in && slices.Contains(ownState, name)
	})
	return runtimes.ForkCommand{
		Argv: append(slices.Clone(s.Command), "--skip-trust", "--approval-mode", "default", "--output-format", "json",
			"--extensions", "none", "--allowed-mcp-server-names", "none"),
		Stdin: []byte(s.Prompt), Dir: home, Links: links,
		Env: append([]string{ownHome.Var + "=" + home, "GEMINI_CLI_NO_RELAUNCH=true"}, s.User.Env...),
		Files: []runtimes.File{
			{Path: filepath.Join(home, ownHome.Dir, ownHome.Settings), Content: settings},
			{Path: policy, Content: []byte(noTools)},
		},
	}, nil
}

// readAnswer returns the text of a one-shot's answer, which is one JSON object. The CLI may write lines before it.
func readAnswer(stdout []byte) ([]string, error) {
	var out struct {
		Response *string `json:"response"`
		Error    *struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	text := string(stdout)
	if at := strings.Index("\n"+text, "\n{"); at >= 0 {
		text = text[at:]
	}
	switch err := json.NewDecoder(strings.NewReader(text)).Decode(&out); {
	case err != nil:
		return nil, errors.New("it ended without a result")
	case out.Error != nil:
		return nil, errors.New(runtimes.FirstOf(runtimes.WithoutBody(out.Error.Message), out.Error.Type, "unknown error"))
	case out.Response == nil:
		return nil, errors.New("it ended without a result")
	case strings.TrimSpace(*out.Response) == "":
		return nil, nil
	}
	return []string{*out.Response}, nil
}
