package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// commandHook is one hook in the settings. Its fields are in the order of the CLI's documentation.
type commandHook struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Timeout int      `json:"timeout"` // seconds
}

type hookGroup struct {
	Hooks []commandHook `json:"hooks"`
}

// hookTimeout returns after how many seconds the CLI ends the hook. It is longer
// than AnswerTimeout. SessionEnd needs it most, because there the CLI's default is
// only 1.5 s. UserPromptSubmit and
// PermissionRequest have the time of [HoldTimeout].
func hookTimeout(event string) int {
	switch event {
	case SessionEnd:
		return 5
	case UserPromptSubmit, PermissionRequest:
		return int((HoldTimeout + 5*time.Minute) / time.Second)
	}
	return 20
}

// LaunchSettings returns the text of the settings file (--settings) of an agent
// that we start. For each event it contains a hook that runs bin, which must be an
// absolute path. The CLI starts it without a shell, which saves one process per hook. Its status line is
// `bin statusline`: that command reports to the daemon how full the context window is, because no hook knows the
// window's size, and then runs the user's own status line. allow are permission rules, such as
// Edit(//data/personas/dev-con-1/handoffs/**).
func LaunchSettings(bin string, events []string, allow []string) ([]byte, error) {
	if err := checkPath("binary", bin); err != nil {
		return nil, fmt.Errorf("launch settings: %w", err)
	}
	groups := map[string][]hookGroup{}
	for _, event := range events {
		if name, ok := Canonical(event); !ok || name != event {
			return nil, fmt.Errorf("launch settings: event %.80q is not canonical", event)
		}
		args := append([]string{"hook", event}, holding(event)...)
		h := commandHook{Type: "command", Command: bin, Args: args, Timeout: hookTimeout(event)}
		groups[event] = []hookGroup{{[]commandHook{h}}}
	}
	settings := map[string]any{"hooks": groups, "statusLine": map[string]string{"type": "command", "command": shellWord(bin) + " statusline"}}
	if len(allow) > 0 {
		if i := slices.IndexFunc(allow, func(rule string) bool { return strings.TrimSpace(rule) == "" || !utf8.ValidString(rule) }); i >= 0 {
			return nil, fmt.Errorf("launch settings: permission rule %d is %q", i+1, allow[i])
		}
		settings["permissions"] = map[string]any{"allow": allow}
	}
	text, err := marshal(settings, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("launch settings: %w", err)
	}
	return append(text, '\n'), nil
}

// OneShotSettings returns the settings of a one-shot in a copy of an agent's
// session. They contain a hook that refuses each tool call, even if bin cannot be
// run: the hook then exits with 2, because a hook that is missing or exits with 1
// refuses nothing (seen with 2.1.329). No other way refuses all tool calls without
// changing the tools' definitions, which the provider has cached. The settings set
// disableAllHooks to false, because a true in the user's settings would disable
// this hook.
func OneShotSettings(bin string) ([]byte, error) {
	if err := checkPath("binary", bin); err != nil {
		return nil, fmt.Errorf("one-shot settings: %w", err)
	}
	h := commandHook{Type: "command", Command: shellWord(bin) + " hook " + PreToolUse + " || exit 2", Timeout: hookTimeout(PreToolUse)}
	return marshal(map[string]any{
		"disableAllHooks": false,
		"hooks":           map[string][]hookGroup{PreToolUse: {{[]commandHook{h}}}},
	}, "", "")
}

// marshal is json.MarshalIndent without HTML escapes. If prefix and indent are empty, it returns one line.
func marshal(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func checkPath(what, path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("%s %q is not an absolute path", what, path)
	case !utf8.ValidString(path):
		return fmt.Errorf("%s %q is not valid UTF-8, which JSON needs", what, path)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%s %q has a control character", what, path)
	}
	return nil
}

const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"

// shellWord quotes s for sh if necessary.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, plainWord) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var errOpenQuote = errors.New("a quote is not closed")

// shellWords splits a line of words that shellWord has made: plain words, words in
// single quotes, and characters after a backslash. It does not interpret anything
// else that a shell would interpret.
func shellWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errOpenQuote
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
			inWord = true
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inWord = true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
