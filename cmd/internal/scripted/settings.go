package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/understudyd/understudy/hooks"
)

// settings are the parts of Claude Code's settings files that the scripted agent understands.
type settings struct {
	Hooks       map[string][]hookGroup `json:"hooks"`
	Env         map[string]string      `json:"env"`
	Permissions struct {
		Allow []string `json:"allow"`
	} `json:"permissions"`
	StatusLine struct {
		Type    string `json:"type"`
		Command string `json:"command"`
	} `json:"statusLine"`
	DisableAllHooks *bool `json:"disableAllHooks"`
}

type hookGroup struct {
	Matcher string    `json:"matcher"`
	Hooks   []hookDef `json:"hooks"`
}

// hookDef is one hook. Timeout is in seconds; 0 means the event's default.
type hookDef struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout float64  `json:"timeout"`
}

// loadSettings merges the settings of the user, of the project and of --settings. The hooks of all files run. For each
// other setting the last file that has it counts.
func loadSettings(given, configDir, cwd string) (settings, error) {
	merged := settings{Hooks: map[string][]hookGroup{}, Env: map[string]string{}}
	for _, file := range []string{
		filepath.Join(configDir, "settings.json"),
		filepath.Join(cwd, ".claude", "settings.json"),
		filepath.Join(cwd, ".claude", "settings.local.json"),
	} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err == nil {
			err = merged.merge(text)
		}
		if err != nil {
			return merged, fmt.Errorf("%s: %w", file, err)
		}
	}
	if given == "" {
		return merged, nil
	}
	text, err := []byte(given), error(nil)
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		if text, err = os.ReadFile(given); err != nil {
			return merged, fmt.Errorf("settings file not found: %s", given)
		}
	}
	if err := merged.merge(text); err != nil {
		return merged, fmt.Errorf("invalid JSON provided to --settings: %w", err)
	}
	return merged, nil
}

func (s *settings) merge(text []byte) error {
	var more settings
	if err := json.Unmarshal(hooks.WithoutMark(text), &more); err != nil {
		return err
	}
	for event, groups := range more.Hooks {
		s.Hooks[event] = append(s.Hooks[event], groups...)
	}
	for name, value := range more.Env {
		s.Env[name] = value
	}
	if more.StatusLine.Command != "" {
		s.StatusLine = more.StatusLine
	}
	if more.DisableAllHooks != nil {
		s.DisableAllHooks = more.DisableAllHooks
	}
	s.Permissions.Allow = append(s.Permissions.Allow, more.Permissions.Allow...)
	return nil
}

// matching returns the hooks of an event whose matcher matches subject, each hook once.
func (s *settings) matching(event, subject string) []hookDef {
	if s.DisableAllHooks != nil && *s.DisableAllHooks {
		return nil
	}
	var out []hookDef
	for _, group := range s.Hooks[event] {
		if m := group.Matcher; m != "" && m != "*" {
			if re, err := regexp.Compile("^(?:" + m + ")$"); err != nil || !re.MatchString(subject) {
				continue
			}
		}
		for _, hook := range group.Hooks {
			same := func(h hookDef) bool { return h.Command == hook.Command && slices.Equal(h.Args, hook.Args) }
			if hook.Type == "command" && !slices.ContainsFunc(out, same) {
				out = append(out, hook)
			}
		}
	}
	return out
}

// permission says whether the agent may write a file.
type permission int

const (
	allowed permission = iota
	mustAsk
	denied
)

// mayEdit decides as Claude Code does (measured). acceptEdits allows files in the working directory. A rule
// Edit(//abs/**) allows its files in every mode but plan. For other files dontAsk refuses, and the other modes ask.
func (s *settings) mayEdit(mode, cwd, path string) permission {
	switch mode {
	case "bypassPermissions", "auto":
		return allowed
	case "plan":
		return mustAsk
	}
	for _, rule := range s.Permissions.Allow {
		pattern, ok := strings.CutPrefix(rule, "Edit(/")
		if pattern, closed := strings.CutSuffix(pattern, ")"); ok && closed && globMatch(pattern, path) {
			return allowed
		}
	}
	inside := strings.HasPrefix(path, strings.TrimSuffix(cwd, "/")+"/")
	switch {
	case mode == "acceptEdits" && inside:
		return allowed
	case mode == "dontAsk":
		return denied
	}
	return mustAsk
}

// globMatch matches a path against a pattern in which ** crosses slashes and * does not.
func globMatch(pattern, path string) bool {
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(quoted, `\*\*`, ".*")
	quoted = strings.ReplaceAll(quoted, `\*`, "[^/]*")
	ok, err := regexp.MatchString("^"+quoted+"$", path)
	return err == nil && ok
}
