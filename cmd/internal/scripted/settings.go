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
)

// settings are what the scripted agent understands of Claude Code's settings files.
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

// hookDef is one hook. Timeout is in seconds, 0 is the event's default.
type hookDef struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout float64  `json:"timeout"`
	Async   bool     `json:"async"`
}

// events are the hook events that this version knows.
var events = []string{
	"SessionStart", "SessionEnd", "Setup", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse",
	"PostToolUseFailure", "PostToolBatch", "PermissionRequest", "PermissionDenied", "Notification", "Stop",
	"StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "MessageDisplay", "CwdChanged",
	"InstructionsLoaded", "PreModelSwitch", "PostModelSwitch", "ConfigChange", "FileChanged", "TaskCreated",
	"TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult",
}

var hookTypes = []string{"command", "http", "prompt", "agent", "mcp_tool"}

// loadSettings merges the user's, the project's and the given settings; the hooks of all of them run,
// of the rest the last one counts.
// Unknown events and types come back as warnings: Claude Code opens a dialog for them at start.
func loadSettings(given, configDir, cwd string) (merged settings, warnings []string, err error) {
	merged.Hooks, merged.Env = map[string][]hookGroup{}, map[string]string{}
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
			warnings = append(warnings, fmt.Sprintf("%s: %v", file, err))
		}
	}
	if given != "" {
		text := []byte(given)
		if !strings.HasPrefix(strings.TrimSpace(given), "{") {
			if text, err = os.ReadFile(given); err != nil {
				return merged, nil, fmt.Errorf("settings file not found: %s", given)
			}
		}
		if err := merged.merge(text); err != nil {
			return merged, nil, fmt.Errorf("invalid JSON provided to --settings: %w", err)
		}
	}
	return merged, append(warnings, merged.unknown()...), nil
}

func (s *settings) merge(text []byte) error {
	var more settings
	if err := json.Unmarshal(text, &more); err != nil {
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

func (s *settings) unknown() []string {
	var out []string
	for event, groups := range s.Hooks {
		if !slices.Contains(events, event) {
			out = append(out, fmt.Sprintf("hooks: %q is not a known event", event))
		}
		for _, group := range groups {
			for _, hook := range group.Hooks {
				if !slices.Contains(hookTypes, hook.Type) {
					out = append(out, fmt.Sprintf("hooks.%s: %q is not a known hook type", event, hook.Type))
				}
			}
		}
	}
	return out
}

// matching are the hooks of an event whose matcher fits subject, each one once.
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

// permission is the answer to "may this file be written?".
type permission int

const (
	allowed permission = iota
	mustAsk
	denied
)

// mayEdit mirrors the measured table: acceptEdits covers the working directory, a rule
// Edit(//abs/**) covers the rest in every mode but plan, manual asks, dontAsk refuses.
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
