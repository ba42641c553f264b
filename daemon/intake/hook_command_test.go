package intake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

func TestHandoffCommandIsToldFromOtherPrompts(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"/handoff": "", "/handoff the parser": "the parser", " /handoff\tfix \"x\" $(date) ": `fix "x" $(date)`, "/handoff\nall": "all",
	} {
		if focus, ok := handoffCommand(prompt); !ok || focus != want {
			t.Errorf("%q: %q, %v", prompt, focus, ok)
		}
	}
	for _, prompt := range []string{"", "handoff", "/handoffs", "/handoff-now", "say /handoff", "/hand off"} {
		if _, ok := handoffCommand(prompt); ok {
			t.Errorf("%q was taken for the command", prompt)
		}
	}
}

// TestLaunchBringsTheCommand: the launch brings /handoff along where nobody has one, and leaves alone what a person or a project has.
func TestLaunchBringsTheCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file    string // in the folder of the settings, or in the project
		text    string
		whose   agents.Slash
		brought bool
		may     bool
	}{
		"none":             {"", "", agents.SlashNone, true, true},
		"hooks install's":  {"config/commands/handoff.md", "# understudy hooks install wrote this file, and uninstall removes it: changes get lost.\n", agents.SlashInstalled, false, true},
		"a person's":       {"config/commands/handoff.md", "mine", agents.SlashTheirs, false, false},
		"a person's skill": {"config/skills/handoff/SKILL.md", "mine", agents.SlashTheirs, false, false},
		"a project's":      {"work/.claude/commands/handoff.md", "ours", agents.SlashTheirs, false, false},
		"a project's one":  {"work/.claude/skills/handoff/SKILL.md", "ours", agents.SlashTheirs, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.file != "" {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, c.file)), 0o700))
				must(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
			}
			spec := runtimes.Spec{
				Cwd: filepath.Join(dir, "work"), Dir: "/launch", Command: []string{"claude"}, SessionID: "0220771c-41d7-462a-90eb-109748196fb5",
			}
			must(t, agents.BringSlash(&spec, filepath.Join(dir, "config"), "/usr/bin/understudy"))
			if whose := agents.SlashAt(filepath.Join(dir, "config"), spec.Cwd); whose != c.whose || spec.MayHandOver != c.may || (spec.Slash != nil) != c.brought {
				t.Errorf("whose %d, may %t, brought %q", whose, spec.MayHandOver, spec.Slash)
			}
			l := value(claude.Runtime.Launch(spec))(t)
			if slices.Contains(l.Argv, "--plugin-dir") != c.brought || (len(l.Files) > 0) != c.brought {
				t.Errorf("launched by %q with %d files", l.Argv, len(l.Files))
			}
			if c.brought && (!strings.Contains(string(spec.Slash), "\nname: handoff\n") || !strings.Contains(string(spec.Slash), "/usr/bin/understudy handoff self")) {
				t.Errorf("command %s", spec.Slash)
			}
		})
	}
	equal(t, "without a folder of the runtime nothing is known", agents.SlashAt("", "/"), agents.SlashTheirs)
}
