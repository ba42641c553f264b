package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestScreens reads the screens that were recorded of the real CLI.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]runtimes.Screen{
		"started":        {Composer: true},
		"idle":           {Composer: true},
		"draft":          {Composer: true, Draft: "please look at the parser"},
		"draft_lines":    {Composer: true, Draft: "[Pasted ~3 lines]"},
		"busy":           {Composer: true, Busy: true},
		"busy_draft":     {Composer: true, Busy: true, Draft: "a draft meanwhile"},
		"busy_tool":      {Composer: true, Busy: true},
		"error":          {Composer: true},
		"error_key":      {Composer: true},
		"interrupted":    {Composer: true},
		"limit":          {Composer: true, Busy: true},
		"dialog_command": {Dialog: "permission: may the agent do this?"},
		"dialog_write":   {Dialog: "permission: may the agent do this?"},
	} {
		b := value(os.ReadFile(filepath.Join("../testdata", "opencode", name+".txt")))(t)
		got := readScreen(runtimes.View{Text: string(b)})
		if got.Row != "" && !strings.Contains(string(b), got.Row) {
			t.Errorf("%s: row %q is not on the screen", name, got.Row)
		}
		got.Row = ""
		equal(t, name, got, want)
	}
}

// TestSideBar: what stands beside the composer of a wide pane is no draft.
func TestSideBar(t *testing.T) {
	t.Parallel()
	screen := func(draft string) string {
		return "  ┃                               Context\n  ┃  " + draft + "\n  ┃                               /tmp/work\n" +
			"  ┃  Build · Fake One Fake          main\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   tab agents  ctrl+p commands    • OpenCode\n"
	}
	for draft, want := range map[string]string{
		"                             1.0K tokens": "", "so it is                     1.0K tokens": "so it is", "日本                         1.0K": "日本",
	} {
		if got := readScreen(runtimes.View{Text: screen(draft)}); got.Draft != want || !got.Composer {
			t.Errorf("%q: %+v, want the draft %q", draft, got, want)
		}
	}
}
