package runtimes

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Dialog is a dialog that stands in a pane, as data.
type Dialog struct {
	Name string   // as [Screen.Dialog] names it; "": no dialog is open
	Text []string // what the dialog says above its choices, row by row
	// Below is what it says below them. It may change when another choice is selected.
	Below []string
	// Choices are all answers that the dialog offers, in their order, and one of them is selected. Up and Down select another
	// one, and Enter takes the one that is selected. nil: the reader does not understand what can be chosen, and Why says so.
	Choices []Choice
	Why     string
}

// Choice is one answer that a dialog offers.
type Choice struct {
	Label    string // all of it, in one line
	Selected bool
	// Row is the row of the screen with the beginning of the choice, exactly as the screen shows it. A choice that is
	// selected has another Row than one that is not.
	Row string
	// Input says that the choice asks for a text, which Enter alone does not give.
	Input bool
}

// Selected returns the index of the choice that is selected; -1: there are no choices.
func (d *Dialog) Selected() int {
	return slices.IndexFunc(d.Choices, func(c Choice) bool { return c.Selected })
}

// Why nothing can be chosen.
const (
	whyNoList   = "its choices are not understood"
	whyScrolled = "it does not show all of its choices"
	whyTicks    = "several of its choices can be ticked"
)

// maxDialogRows is how many rows of a dialog are read. The agent may have written what stands above.
const maxDialogRows = 60

// DialogLook is how a runtime draws its dialogs.
type DialogLook struct {
	// region returns the rows that belong to the open dialog. They are the last rows of the screen, but for those below.
	Region func(lines []string) []string
	Mark   rune // stands before the choice that is selected; 0: it is shown by a colour only
}

// AnswersDialog reports whether the choices of a dialog of that name can be read, so that one may be taken from elsewhere than the pane.
func (rt *Runtime) AnswersDialog(name string) bool {
	return rt.Dialogs.Region != nil && rt.Dialogs.Mark != 0 && !slices.Contains(views, name)
}

// ReadDialog reads the dialog that a pane shows.
func (rt *Runtime) ReadDialog(v View) Dialog {
	d := Dialog{Name: rt.ReadScreen(v).Dialog}
	if d.Name == "" {
		return d
	}
	if d.Why = whyNoList; rt.Dialogs.Region == nil {
		return d
	}
	rows := rt.Dialogs.Region(ScreenLines(v.Text))
	rows = rows[max(0, len(rows)-maxDialogRows):]
	plain := make([][]rune, len(rows)) // without the borders of a box, and with the same columns
	for i, r := range rows {
		plain[i] = unboxed(r)
	}
	first, after := 0, 0
	if rt.AnswersDialog(d.Name) {
		if list, ok := findList(plain, rt.Dialogs.Mark); ok {
			first, after = list.first, list.after
			d.Choices, d.Why = list.read(rows, plain)
		}
	}
	for i, r := range plain {
		text := strings.TrimSpace(string(r))
		if i >= first && i < after || isOrnament(text) {
			continue
		}
		if d.Why != "" && pressEnter().MatchString(text) {
			d.Choices, d.Why = []Choice{{Label: text, Selected: true, Row: rows[i]}}, ""
		}
		if after > 0 && i >= after {
			d.Below = append(d.Below, text)
		} else {
			d.Text = append(d.Text, text)
		}
	}
	d.Text, d.Below = trimBlank(d.Text), trimBlank(d.Below)
	return d
}

// views are the dialogs in which Enter answers no question.
var views = []string{"agents view", "transcript view"}

var (
	// pressEnter matches the row of a dialog that asks for nothing but Enter.
	pressEnter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Press Enter to continue\W*$`) })
	// numberedLabel matches the label of a choice in a list with numbers.
	numberedLabel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9])\. +(\S.*)$`) })
	tickLabel     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\[[ x✔✓*]?\]|[☐☑☒◯◉○◻◼]) `) })
	inputLabel    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Type something|Type your|Other\b|Enter a )`) })
)

// choiceList is a list of choices: rows first to after of a dialog.
type choiceList struct {
	first, after int
	column       int // of the mark
	label        int // column at which the labels begin
	numbered     bool
}

// findList finds the list that has the row with the mark. A row of the list begins to the right of the mark.
func findList(rows [][]rune, mark rune) (l choiceList, ok bool) {
	at := -1
	for i, r := range rows {
		if c := indent(r); c+2 < len(r) && r[c] == mark && r[c+1] == ' ' {
			at = i
		}
	}
	if at < 0 {
		return l, false
	}
	l.column = indent(rows[at])
	l.label = l.column + 1 + indent(rows[at][l.column+1:])
	l.numbered = numberedLabel().MatchString(string(rows[at][l.label:]))
	belongs := func(r []rune) bool {
		return len(r) > 0 && indent(r) > l.column && (!l.numbered || indent(r) >= l.label)
	}
	for l.first = at; l.first > 0 && (belongs(rows[l.first-1]) || arrow(rows[l.first-1], l.column)); l.first-- {
	}
	for l.after = at + 1; l.after < len(rows) && (belongs(rows[l.after]) || arrow(rows[l.after], l.column)); l.after++ {
	}
	if l.numbered {
		return l, true
	}
	l.label = len(rows[at])
	for i := l.first; i < l.after; i++ {
		r := slices.Clone(rows[i])
		if i == at {
			r[l.column] = ' '
		}
		// The choice that is in force already has a sign: all labels begin behind its column.
		if c := indent(r); c+2 < len(r) && r[c] == '✔' && r[c+1] == ' ' {
			r[c] = ' '
			rows[i][c] = ' '
		}
		l.label = min(l.label, indent(r))
	}
	return l, true
}

// arrow reports whether a row has, in the column of the mark, the sign that the list goes on there.
func arrow(r []rune, column int) bool {
	return indent(r) == column && column < len(r) && (r[column] == '↑' || r[column] == '↓')
}

// read returns the choices of the list, or why they are not understood.
func (l *choiceList) read(raw []string, rows [][]rune) (all []Choice, why string) {
	for i := l.first; i < l.after; i++ {
		r := slices.Clone(rows[i])
		if arrow(r, l.column) {
			return nil, whyScrolled
		}
		selected := indent(r) == l.column
		if selected {
			r[l.column] = ' '
		}
		text := strings.TrimSpace(string(r))
		begins := indent(r) == l.label
		if l.numbered {
			m := numberedLabel().FindStringSubmatch(text)
			if begins = begins && m != nil; begins {
				if m[1] != string(rune('1'+len(all))) {
					return nil, whyScrolled
				}
				text = m[2]
			}
		}
		switch {
		case begins && tickLabel().MatchString(text):
			return nil, whyTicks
		case begins:
			all = append(all, Choice{Label: oneLine(text), Selected: selected, Row: raw[i], Input: inputLabel().MatchString(text)})
		case len(all) == 0 || selected:
			return nil, whyNoList
		default:
			all[len(all)-1].Label += " " + oneLine(text)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(c Choice) bool { return !c.Selected })
	if len(all) < 2 || len(chosen) != 1 {
		return nil, whyNoList
	}
	return all, ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// indent returns the column at which the text of a row begins.
func indent(r []rune) int {
	for i, c := range r {
		if c != ' ' && c != '\u00a0' {
			return i
		}
	}
	return len(r)
}

// unboxed replaces the borders of a box at both ends of a row by blanks, and drops the blanks at its end.
func unboxed(row string) []rune {
	r := []rune(row)
	for n := 0; n < 2; n++ { // a box may stand in another one
		if i := indent(r); i < len(r) && strings.ContainsRune("│┃", r[i]) {
			r[i] = ' '
		}
		for len(r) > 0 && unicode.IsSpace(r[len(r)-1]) {
			r = r[:len(r)-1]
		}
		if n := len(r); n > 0 && strings.ContainsRune("│┃", r[n-1]) {
			r = r[:n-1]
		}
	}
	for len(r) > 0 && unicode.IsSpace(r[len(r)-1]) {
		r = r[:len(r)-1]
	}
	return r
}

// isOrnament reports whether a row only draws a line.
func isOrnament(text string) bool {
	return text != "" && strings.Trim(text, "─╌▔━═╭╮╰╯├┤▀╹ ") == ""
}

// trimBlank drops the empty rows at both ends, and all but one where several follow each other.
func trimBlank(rows []string) []string {
	rows = slices.CompactFunc(rows, func(a, b string) bool { return a == "" && b == "" })
	for len(rows) > 0 && rows[0] == "" {
		rows = rows[1:]
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// Signs are those of a CLI's dialogs: a text that only one dialog shows, and the name of that dialog. The first one that is seen counts.
type Signs [][2]string

// Find returns the name of the dialog in some rows; "": none of the signs is there. A narrow pane breaks lines anywhere between words.
func (s Signs) Find(rows []string) string {
	words := squeeze(strings.Join(rows, "\n"))
	for _, sign := range s {
		if strings.Contains(words, sign[0]) {
			return sign[1]
		}
	}
	return ""
}
