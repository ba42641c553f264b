package omp

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// The screens were recorded from the pinned version by the end-to-end tests.
func TestReadScreen(t *testing.T) {
	for name, want := range map[string]runtimes.Screen{
		"started":        {Composer: true, Row: "╰─"},
		"idle":           {Composer: true, Row: "╰─"},
		"draft":          {Composer: true, Row: "╰─ please look at the parser", Draft: "please look at the parser"},
		"draft_lines":    {Composer: true, Row: "╰─ first line", Draft: "first line\n\nthird line"},
		"busy":           {Composer: true, Row: "╰─", Busy: true},
		"busy_draft":     {Composer: true, Row: "╰─ a draft meanwhile", Draft: "a draft meanwhile", Busy: true},
		"busy_tool":      {Composer: true, Row: "╰─", Busy: true},
		"interrupted":    {Composer: true, Row: "╰─"},
		"error":          {Composer: true, Row: "╰─"},
		"error_key":      {Composer: true, Row: "╰─"},
		"limit":          {Composer: true, Row: "╰─"},
		"menu":           {Composer: true, Row: "╰─ /new", Draft: "/new"},
		"dialog_command": {Dialog: "permission for bash"},
		"dialog_write":   {Dialog: "permission for write"},
	} {
		t.Run(name, func(t *testing.T) {
			text := wardentest.Value(os.ReadFile(filepath.Join("../testdata", "omp", name+".txt")))(t)
			wardentest.Equal(t, fmt.Sprintf("screen %s is read as", name), Runtime.ReadScreen(runtimes.View{Text: string(text)}), want)
		})
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"a shell":        "$ omp\nomp: command not found\n$ ",
		"a box of text":  "╭─ Allow tool: bash ─╮\n│ quoted │\n╰──────────╯\n$ ",
		"an end of text": " Hello.\n╰─ not a composer",
	} {
		wardentest.Equal(t, name, Runtime.ReadScreen(runtimes.View{Text: text}), runtimes.Screen{})
	}
}
