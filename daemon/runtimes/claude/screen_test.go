package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestReadScreen reads screens that were captured from the real CLI. TestScreens in cmd/internal/claudetest
// captures them anew and compares the live CLI with the same want.json.
func TestReadScreen(t *testing.T) {
	t.Parallel()
	raw := value(os.ReadFile("../testdata/screens/want.json"))(t)
	wants := map[string]runtimes.Screen{}
	must(t, json.Unmarshal(raw, &wants))
	files := value(filepath.Glob("../testdata/screens/*.txt"))(t)
	equal(t, "screens and expectations", len(files), len(wants))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := value(os.ReadFile(file))(t)
			want, ok := wants[name]
			if !ok {
				t.Fatal("not in want.json")
			}
			equal(t, fmt.Sprintf("%s\n", screen), withoutRow(Runtime.ReadScreen(runtimes.View{Text: string(screen)})), want)
		})
	}
}

// withoutRow removes the field that only repeats a row of the screen.
func withoutRow(s runtimes.Screen) runtimes.Screen {
	s.Row = ""
	return s
}

func TestReadScreenOfNothing(t *testing.T) {
	t.Parallel()
	bar := strings.Repeat("─", 80)
	for name, screen := range map[string]string{
		"empty":             "",
		"blank":             strings.Repeat("\n", 40),
		"a shell":           "$ ls\nfile\n$ ",
		"one rule":          bar,
		"two rules":         bar + "\n" + bar,
		"a box of somebody": bar + "\n❯ typed with an ordinary blank\n" + bar + "\n",
		"short rules":       "────\n❯\u00a0x\n────",
	} {
		equal(t, name, Runtime.ReadScreen(runtimes.View{Text: screen}), runtimes.Screen{})
	}
}

// TestReadScreenBelievesOnlyTheBottom: an agent's own output must not make the daemon answer a dialog or
// hold back a text.
func TestReadScreenBelievesOnlyTheBottom(t *testing.T) {
	t.Parallel()
	bar := strings.Repeat("─", 80)
	composer := "\n" + bar + "\n❯\u00a0\n" + bar + "\n  ⏸ manual mode on\n"
	for _, text := range []string{
		"Background work is running\n  ❯ 1. Exit and stop tasks\n  Enter to confirm · Esc to cancel",
		bar + "\n Do you want to proceed?\n ❯ 1. Yes\n\n Esc to cancel",
		"esc to interrupt", "enter to return", "draft stashed\n", "! for shell mode",
	} {
		equal(t, text, withoutRow(Runtime.ReadScreen(runtimes.View{Text: "● " + text + composer})), (runtimes.Screen{Composer: true}))
	}
}

// TestProposalsAreNoDrafts: a composer that shows a proposal is empty, so the daemon may type although a
// draft is aside.
// TestReadScreenOfHeldPrompt: the CLI (2.1.330) says that hooks of the session's start run, and that hooks of a prompt do.
func TestReadScreenOfHeldPrompt(t *testing.T) {
	t.Parallel()
	for row, held := range map[string]bool{
		"· Transfiguring… (running SessionStart hooks… 1/2 · 2s)":     true,
		"· Transfiguring… (running UserPromptSubmit hooks… 1/2 · 2s)": false,
		"· Transfiguring… (2s · ↓ 3 tokens)":                          false,
		"● It says (running SessionStart hooks… 1/2 · 2s)":            false,
	} {
		rule := strings.Repeat("─", 60)
		screen := "❯ how is the house?\n\n" + row + "\n      ◐ medium · /effort\n" + rule + "\n❯\u00a0\n" + rule + "\n  con\n  ⏸ manual mode on · ← for agents\n"
		if got := readScreen(runtimes.View{Text: screen}); got.Held != held || !got.Composer || got.Busy != !strings.HasPrefix(row, "●") {
			t.Errorf("%q is read as %+v", row, got)
		}
	}
}

func TestProposalsAreNoDrafts(t *testing.T) {
	t.Parallel()
	bar := strings.Repeat("─", 80)
	for _, text := range []string{
		`Try "fix the tests"`, "Press up to edit queued messages", "Resend your message to try again", "Once fixed, resend your message", "Run /rewind to go back",
	} {
		s := Runtime.ReadScreen(runtimes.View{Text: "● No.\n" + strings.Repeat(" ", 67) + "draft stashed\n" + bar + "\n❯\u00a0" + text + "\n" + bar + "\n  ⏸ manual mode on\n"})
		if !s.Composer || s.Draft != "" || !s.Stashed {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	s := runtimes.Screen{Draft: "a text that is bro\nken where the screen ends,\nwith  a path /tmp/x.md"}
	for text, want := range map[string]bool{
		"a text that is broken where": true, "a path /tmp/x.md": true, "ends, with": true,
		"another": false, "": false, "  ": false,
	} {
		equal(t, "Holds("+text+") is not", s.Holds(text), want)
	}
}

func FuzzReadScreen(f *testing.F) {
	files, _ := filepath.Glob("../testdata/screens/*.txt")
	for _, file := range files {
		b := wardentest.Value(os.ReadFile(file))(f)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, screen string) {
		s := Runtime.ReadScreen(runtimes.View{Text: screen})
		if s.Composer && s.Dialog != "" {
			t.Errorf("a composer and the dialog %q", s.Dialog)
		}
		if strings.Contains(s.Dialog, "\n") {
			t.Errorf("dialog of more than one line: %q", s.Dialog)
		}
	})
}

// TestHoldsTheEnd: a composer that has scrolled shows only the end of its text.
func TestHoldsTheEnd(t *testing.T) {
	t.Parallel()
	const end = "Agent Context (current work, what is intended but not done, next steps), ## Current Story, ## Code Patterns. Keep done and intended apart."
	rule := strings.Repeat("─", 80)
	screen := "● OK\n\n─── ↑ 5 more " + strings.Repeat("─", 49) + " developer-con-1 ─\n  " + end[:76] + "\n  " + end[76:] + "\n" + rule + "\n  ⏸ manual mode on\n"
	got := readScreen(runtimes.View{Text: screen})
	if !got.Holds("[nonce] Write a document: ## Next "+end) || got.Holds("[nonce] Something else") || got.Holds(end+" And more") {
		t.Errorf("draft %q", got.Draft)
	}
}

// TestHoldsOnly: a composer that has more than a text has what a person has typed, which nobody may delete.
func TestHoldsOnly(t *testing.T) {
	t.Parallel()
	const text = "[ref] hand over your work\nnow"
	for _, c := range []struct {
		draft string
		part  bool
		want  bool
	}{
		{"[ref] hand over your\n work now", false, true},
		{"[ref] hand over your work now and look at the sheds", false, false},
		{"look at the sheds [ref] hand over your work now", false, false},
		{"<pasted_content id=\"f9\">\n[ref] hand over your work\nnow\n</pasted_content id=\"f9\">", false, true},
		{"<pasted_content id=\"f9\">\n[ref] hand", true, true},
		{"[ref] hand over", false, false},
		{"[ref] hand over", true, true}, // the last line was killed
		{"[ref] hand over and", true, false},
		{"", true, false},
	} {
		equal(t, fmt.Sprint(c.draft, ", part ", c.part), (runtimes.Screen{Draft: c.draft}).HoldsOnly(text, c.part), c.want)
	}
}
