package gemini

import (
	"regexp"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The bottom of Gemini CLI's screen is, from top to bottom: a row for what runs; a rule; a row for the mode; a blank row; the
// draft, whose first row begins with a sign and whose other rows with three blanks; a blank row; while a person types a
// command, a menu; and the footer in two rows. A dialog is a box in place of all of that.
var (
	sign      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ [>*!](?: |$)`) })
	footerRow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ workspace \(.* /model$`) })
	// runs matches the row of a running turn, and that of a hook, during which the CLI drops the Enter key. The row of a
	// hook stands for three seconds, however soon the hook has ended. All the same it counts: of a text that was submitted within
	// 0.1 s of the end of a turn, the CLI often did not report the end of its turn (seen in 0.61.0). If the row is long, because a
	// person's own hooks have no names, the hint about shortcuts covers its beginning: "? for shortcutsks: notify-send (1/2)".
	runs = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ \S .*\(esc to cancel|^ +(?:\S )?Executing Hooks?: |^\? for shortcuts\S+: `)
	})
	answer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^│ +(●)? +\d+\. (.*?) +│$`) })
)

const (
	placeholder = "  Type your message or @path/to/file"
	shell       = " !"
	working     = "✦"
	asks        = "✋"
	limitText   = "Usage limit reached for "
)

// dialogs have a text that only this dialog shows. The first match wins.
var dialogs = runtimes.Signs{
	{limitText, "usage limit: keep trying or stop?"},
	{"How would you like to authenticate", "login: how is the CLI to log in?"},
	{"Do you trust the files in this folder?", "trust: may the agent work in this folder?"},
	{"Do you trust the following folders", "trust: may the agent use its persona's folders?"},
	{"Allow execution of", "permission to run a command"},
	{"Apply this change?", "permission to change a file"},
}

func readScreen(v runtimes.View) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	if box := runtimes.LastBox(lines); box != nil {
		return readDialog(box)
	}
	rule := len(lines) - 1
	for rule >= 0 && !runtimes.PlainRule(lines[rule]) {
		rule--
	}
	first, footer := -1, -1 // of the draft
	for i := rule + 1; rule >= 0 && i < len(lines); i++ {
		switch {
		case first < 0 && sign().MatchString(lines[i]):
			first = i
		case first >= 0 && footerRow().MatchString(lines[i]):
			footer = i
		}
	}
	if first < 0 || footer < 0 {
		if strings.HasPrefix(v.Title, asks) {
			return runtimes.Screen{Dialog: "dialog: " + runtimes.DialogTitle(lines[max(0, len(lines)-3):])}
		}
		return runtimes.Screen{}
	}
	if strings.HasPrefix(lines[first], shell) {
		return runtimes.Screen{Dialog: "shell mode: Enter would run the text as a command"}
	}
	busy := strings.HasPrefix(v.Title, working)
	for i := rule - 1; i >= max(0, rule-3) && !busy; i-- {
		busy = runs().MatchString(lines[i])
	}
	draft := draft(lines[first:footer])
	return runtimes.Screen{Composer: menuFits(lines[first+1:footer], draft), Draft: draft, Row: lines[first], Busy: busy}
}

// menuFits reports whether Enter would carry out the command that stands in the composer; it is true for every other text.
// Enter carries out the first command of the menu, and the menu follows the text with a delay: "/quit" became "/clear".
func menuFits(rows []string, draft string) bool {
	command, ok := strings.CutPrefix(draft, "/")
	if !ok {
		return true
	}
	for _, l := range rows {
		if l != "" && !strings.HasPrefix(l, "   ") {
			return strings.Fields(l)[0] == command
		}
	}
	return false
}

// draft returns the text of the composer. rows end before the footer. The rows behind the last blank one are a menu.
func draft(rows []string) string {
	text := strings.TrimPrefix(rows[0][2:], " ")
	if rows[0][2:] == " "+placeholder {
		text = ""
	}
	var draft []string
	for _, l := range rows[1:] {
		if l != "" && !strings.HasPrefix(l, "   ") {
			break // a menu
		}
		draft = append(draft, strings.TrimPrefix(l, "   "))
	}
	return strings.TrimRight(strings.Join(append([]string{text}, draft...), "\n"), "\n ")
}

// dialogLook says how Gemini CLI draws its dialogs: in the box with which the screen ends.
var dialogLook = runtimes.DialogLook{Mark: '●', Region: runtimes.LastBox}

// readDialog reads the rows of a dialog's box.
func readDialog(box []string) runtimes.Screen {
	s := runtimes.Screen{}
	stops := false
	for _, l := range box {
		if m := answer().FindStringSubmatch(l); m != nil && m[1] != "" {
			s.Row, stops = l, m[2] == "Stop"
		}
	}
	words := strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(box, "\n"), "│", " ")), " ")
	s.Dialog = dialogs.Find([]string{words})
	if s.Limit = strings.HasPrefix(words, limitText); s.Limit {
		s.Stops = stops
		return s
	}
	s.Row = ""
	if s.Dialog == "" {
		inner := make([]string, len(box)) // a dialog may begin with empty rows, and marks what has the focus
		for i, l := range box {
			inner[i] = strings.TrimPrefix(strings.Trim(l, "│ "), "> ")
		}
		s.Dialog = "dialog: " + runtimes.DialogTitle(inner)
	}
	return s
}
