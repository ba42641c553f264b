package runtimes

import (
	"regexp"
	"strings"
	"sync"
)

// The bottom of oh-my-pi's screen is, from top to bottom: a row for what runs and for the session's title; the status row,
// " π > ⬢ MODEL > … 100K─", with a spinner and seconds in place of the π while a turn runs; the draft, whose first row begins
// with "╰─" and whose other rows with three blanks; and while a person types a command, a menu, whose rows begin with two
// blanks or "❯ ". A dialog is a box of its own in place of all of that.
var (
	ompStatus = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ ?(\S+)(?: \S+)? > ⬢ `) })
	ompBox    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^╭─ (\S.*?) ─+╮$`) })
)

const (
	ompDraft   = "╰─"
	ompIndent  = "   " // of the draft's other rows
	ompChosen  = "❯ "  // before the chosen row of a menu
	ompWorking = "⎋ "
)

func readOmpScreen(v View) Screen {
	lines := screenLines(v.Text)
	first := len(lines) - 1 // the draft's first row
	for first > 0 && (lines[first] == "" || strings.HasPrefix(lines[first], "  ") || strings.HasPrefix(lines[first], ompChosen)) {
		first--
	}
	if first <= 0 || !strings.HasPrefix(lines[first], ompDraft) {
		return Screen{Dialog: ompDialog(lines)}
	}
	m := ompStatus().FindStringSubmatch(lines[first-1])
	if m == nil {
		return Screen{Dialog: ompDialog(lines)}
	}
	draft := []string{strings.TrimPrefix(strings.TrimPrefix(lines[first], ompDraft), " ")}
	for _, l := range lines[first+1:] {
		if l != "" && !strings.HasPrefix(l, ompIndent) {
			break
		}
		draft = append(draft, strings.TrimPrefix(l, ompIndent))
	}
	busy := m[1] != "π" || first > 1 && strings.HasPrefix(strings.TrimSpace(lines[first-2]), ompWorking)
	return Screen{Composer: true, Draft: strings.Join(draft, "\n"), Row: lines[first], Busy: busy}
}

// ompDialogLook says how oh-my-pi draws its dialogs: in the box with which the screen ends, with the name of the dialog in its
// upper border.
var ompDialogLook = dialogLook{mark: '❯', region: lastBox}

// ompDialog names the dialog in the last box of the screen; "": there is none.
func ompDialog(lines []string) string {
	bottom := len(lines) - 1
	if !strings.HasPrefix(lines[bottom], "╰") || !strings.HasSuffix(lines[bottom], "╯") {
		return ""
	}
	for i := bottom - 1; i >= 0 && !strings.HasPrefix(lines[i], "╰"); i-- {
		m := ompBox().FindStringSubmatch(lines[i])
		switch {
		case m == nil:
		case strings.HasPrefix(m[1], "Allow tool: "):
			return "permission for " + strings.TrimPrefix(m[1], "Allow tool: ")
		default:
			return "dialog: " + m[1]
		}
	}
	return ""
}
