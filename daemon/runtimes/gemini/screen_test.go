package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The screens were recorded from the pinned version by the end-to-end tests.
func TestReadScreen(t *testing.T) {
	b := wardentest.Value(os.ReadFile(filepath.Join("../testdata", "gemini", "titles.json")))(t)
	var titles map[string]string
	wardentest.Must(t, json.Unmarshal(b, &titles))
	const empty = " *   Type your message or @path/to/file"
	const keepTrying = "│ ● 1. Keep trying                                                                                                     │"
	cases := map[string]runtimes.Screen{
		"started":        {Composer: true, Row: empty},
		"idle":           {Composer: true, Row: empty},
		"draft":          {Composer: true, Row: " * please look at the parser", Draft: "please look at the parser"},
		"draft_lines":    {Composer: true, Row: " * first line", Draft: "first line\n\nthird line"},
		"busy":           {Composer: true, Row: empty, Busy: true},
		"busy_draft":     {Composer: true, Row: " * a draft meanwhile", Draft: "a draft meanwhile", Busy: true},
		"busy_tool":      {Composer: true, Row: empty, Busy: true},
		"interrupted":    {Composer: true, Row: empty},
		"error":          {Composer: true, Row: empty},
		"error_key":      {Composer: true, Row: empty},
		"limit":          {Dialog: "usage limit: keep trying or stop?", Limit: true, Row: keepTrying},
		"dialog_command": {Dialog: "permission to run a command"},
		"dialog_write":   {Dialog: "permission to change a file"},
	}
	for name := range titles {
		if _, ok := cases[name]; !ok {
			t.Errorf("the recorded screen %s has no case", name)
		}
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			text := wardentest.Value(os.ReadFile(filepath.Join("../testdata", "gemini", name+".txt")))(t)
			for _, title := range []string{titles[name], ""} { // the daemon looks for dialogs without the title
				equal(t, "screen "+name+" with title "+title+" is read as", Runtime.ReadScreen(runtimes.View{Text: string(text), Title: title}), want)
			}
		})
	}
}

// TestReadScreenAtOtherTimes has screens that are no golden files: rows of them were copied from recorded ones.
func TestReadScreenAtOtherTimes(t *testing.T) {
	const rule = "────────────────────────────────────────────────────────────\n"
	const footer = " workspace (/directory)                  sandbox            /model\n /srv/work                              no sandbox           Auto"
	for name, c := range map[string]struct {
		text, title string
		want        runtimes.Screen
	}{
		"nothing":             {},
		"a shell":             {text: "$ gemini\ngemini: command not found\n$ "},
		"a quoted composer":   {text: rule + " * a draft\n\n" + footer + "\nand so on\n" + rule + "$ "},
		"a menu":              {text: rule + " Shift+Tab to accept edits\n\n > /quit\n\n quit   Exit the cli\n" + footer, want: runtimes.Screen{Composer: true, Row: " > /quit", Draft: "/quit"}},
		"a menu that is late": {text: rule + " Shift+Tab to accept edits\n\n > /quit\n\n clear   Clear the screen\n quit   Exit the cli\n" + footer, want: runtimes.Screen{Row: " > /quit", Draft: "/quit"}},
		"no menu yet":         {text: rule + " Shift+Tab to accept edits\n\n > /quit\n\n" + footer, want: runtimes.Screen{Row: " > /quit", Draft: "/quit"}},
		"a hook":              {text: "  Executing Hook: understudy      ? for shortcuts\n" + rule + " YOLO\n\n * x\n\n" + footer, want: runtimes.Screen{Composer: true, Row: " * x", Draft: "x", Busy: true}},
		"hooks of a person's": {text: "? for shortcutsks: if test -e 'gate'; then exit 2; fi (1/2), understudy (2/2)\n" + rule + " YOLO\n\n * x\n\n" + footer, want: runtimes.Screen{Composer: true, Row: " * x", Draft: "x", Busy: true}},
		"busy by the title":   {text: rule + " YOLO\n\n * x\n\n" + footer, title: "✦  Working… (work)", want: runtimes.Screen{Composer: true, Row: " * x", Draft: "x", Busy: true}},
		"shell mode":          {text: rule + " YOLO\n\n ! rm x\n\n" + footer, want: runtimes.Screen{Dialog: "shell mode: Enter would run the text as a command"}},
		"the choice to stop":  {text: "╭────╮\n│ Usage limit reached for m.   │\n│   1. Keep trying │\n│ ● 2. Stop  │\n╰────╯", want: runtimes.Screen{Dialog: "usage limit: keep trying or stop?", Limit: true, Stops: true, Row: "│ ● 2. Stop  │"}},
		"its settings":        {text: "╭────╮\n│    │\n│ > Settings │\n│    │\n│ ● Vim Mode │\n╰────╯", want: runtimes.Screen{Dialog: "dialog: Settings"}},
		"another dialog":      {text: "╭────╮\n│ Which of them?  │\n│ ● 1. This │\n╰────╯", want: runtimes.Screen{Dialog: "dialog: Which of them?"}},
		"trust":               {text: "╭────╮\n│ Do you trust the files in this │\n│ folder? │\n╰────╯", want: runtimes.Screen{Dialog: "trust: may the agent work in this folder?"}},
		"persona's folders":   {text: " ╭────╮\n │ Do you trust the following folders being added? │\n │ ● 1. Yes │\n ╰────╯", want: runtimes.Screen{Dialog: "trust: may the agent use its persona's folders?"}},
	} {
		equal(t, name+" is read as", Runtime.ReadScreen(runtimes.View{Text: c.text, Title: c.title}), c.want)
	}
}

// TestFoldedTextIsHeld: a composer may show a long text by its length alone. Another length is another text.
func TestFoldedTextIsHeld(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", 500) + "🏠"
	for draft, want := range map[string]bool{
		"[Pasted Text: 501 chars]": true, "[Pasted Text: 502 chars]": true, "[Pasted Content 501 chars]": true, // a house has two units in UTF-16
		"[Pasted Text: 503 chars]": false, "[Pasted Text: 501 chars] and more": false, "501 chars": false,
	} {
		equal(t, draft, (runtimes.Screen{Composer: true, Draft: draft}).Holds(text), want)
	}
	lines := strings.Repeat("look\n", 6) + "and tell"
	for draft, want := range map[string]bool{
		"[Pasted Text: 7 lines]": true, "[Pasted Text: 7 lines #2]": true, "[Pasted text #1 +6 lines]": true, "[Pasted Text: 6 lines]": false,
		"[Pasted text #1 +7 lines]": false, "[Pasted text #1]": false, "[Pasted text #1 +6 lines] and more": false,
	} {
		equal(t, draft, (runtimes.Screen{Composer: true, Draft: draft}).Holds(lines), want)
	}
	equal(t, "one long line", (runtimes.Screen{Composer: true, Draft: "[Pasted text #3]"}).Holds(strings.Repeat("x", 801)), true)
	equal(t, "a short text", (runtimes.Screen{Composer: true, Draft: "[Pasted text #3]"}).Holds("look"), false)
}

var equal = wardentest.Equal
