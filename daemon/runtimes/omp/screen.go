package omp

import (
	"regexp"
	"strings"
	"sync"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// The bottom of oh-my-pi's screen is, from top to bottom: a row for what runs and for the session's title; the status row,
// " π > ⬢ MODEL > … 100K─", with a spinner and seconds in place of the π while a turn runs; the draft, whose first row begins
// with "╰─" and whose other rows with three blanks; and while a person types a command, a menu, whose rows begin with two
// blanks or "❯ ". A dialog is a box of its own in place of all of that.
var (
	status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ ?(\S+)(?: \S+)? > ⬢ `) })
	box    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^╭─ (\S.*?) ─+╮$`) })
)

const (
	draftSign = "╰─"
	indent    = "   " // of the draft's other rows
	chosen    = "❯ "  // before the chosen row of a menu
	working   = "⎋ "
)

func readScreen(v runtimes.View) runtimes.Screen {
	lines := runtimes.ScreenLines(v.Text)
	first := len(lines) - 1 // the draft's first row
	for first > 0 && (lines[first] == "" || strings.HasPrefix(lines[first], "  ") || strings.HasPrefix(lines[first], chosen)) {
		first--
	}
	if first <= 0 || !strings.HasPrefix(lines[first], draftSign) {
		return runtimes.Screen{Dialog: dialog(lines)}
	}
	m := status().FindStringSubmatch(lines[first-1])
	if m == nil {
		return runtimes.Screen{Dialog: dialog(lines)}
	}
	draft := []string{strings.TrimPrefix(strings.TrimPrefix(lines[first], draftSign), " ")}
	for _, l := range lines[first+1:] {
		if l != "" && !strings.HasPrefix(l, indent) {
			break
		}
		draft = append(draft, strings.TrimPrefix(l, indent))
	}
	busy := m[1] != "π" || first > 1 && strings.HasPrefix(strings.TrimSpace(lines[first-2]), working)
	return runtimes.Screen{Composer: true, Draft: strings.Join(draft, "\n"), Row: lines[first], Busy: busy}
}

// dialogLook says how oh-my-pi draws its dialogs: in the box with which the screen ends, with the name of the dialog in its
// upper border.
var dialogLook = runtimes.DialogLook{Mark: '❯', Region: runtimes.LastBox}

// dialog names the dialog in the last box of the screen; "": there is none.
func dialog(lines []string) string {
	bottom := len(lines) - 1
	if !strings.HasPrefix(lines[bottom], "╰") || !strings.HasSuffix(lines[bottom], "╯") {
		return ""
	}
	for i := bottom - 1; i >= 0 && !strings.HasPrefix(lines[i], "╰"); i-- {
		m := box().FindStringSubmatch(lines[i])
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
