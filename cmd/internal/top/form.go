package top

import (
	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// form asks the operator for the texts of an action. While a form is open it gets all keys.
type form struct {
	title   string
	enter   string // the meaning of Enter in the line of keys
	fields  []field
	at      int      // the index of the field that the operator types into
	action  action   // the action that starts when the form is done
	confirm string   // the question before the action; "" if there is none
	answers []answer // the answers to the question, other than to leave it
	asking  bool     // the form shows the question

	// keeps says that the form stays open until its action has succeeded, so that no text is lost if it fails.
	keeps bool
	busy  bool   // the action runs
	wrong string // why the action failed
}

// answer is a key that answers a form's question.
type answer struct {
	key, does string
	set       func(*action) // changes the action; nil: nothing
}

// filled returns the action with the values of the fields.
func (f *form) filled() action {
	a := f.action
	for i := range f.fields {
		f.fields[i].set(&a, f.fields[i].value())
	}
	return a
}

// effect is the effect of a key on a form.
type effect int

const (
	stays effect = iota
	leaves
	does
)

// press gives a key to the form.
func (f *form) press(k tea.KeyPressMsg) effect {
	name := k.String()
	switch {
	case f.asking:
		return f.answer(name)
	case name == "esc":
		return leaves
	case f.busy:
	case name == "enter" && f.confirm != "":
		f.asking = true
	case name == "enter":
		return does
	case len(f.fields) == 0:
	case name == "tab":
		f.move(1)
	case name == "shift+tab":
		f.move(-1)
	default:
		if by := f.fields[f.at].press(k); by != 0 {
			f.move(by)
		}
	}
	return stays
}

// answer answers the form's question. Any other key than those that are offered leaves the question.
func (f *form) answer(name string) effect {
	for _, a := range f.answers {
		if a.key == name {
			if a.set != nil {
				a.set(&f.action)
			}
			f.asking = false
			return does
		}
	}
	if f.keeps { // the text is still there
		f.asking = false
		return stays
	}
	return leaves
}

// paste puts a text into the field that the operator types into.
func (f *form) paste(p tea.PasteMsg) {
	if !f.asking && !f.busy && len(f.fields) > 0 {
		f.fields[f.at].give(p)
	}
}

func (f *form) move(by int) {
	f.fields[f.at].blur()
	f.at = (f.at + by + len(f.fields)) % len(f.fields)
	f.fields[f.at].focus()
}

// lines draws the form within so many lines, if that is possible.
func (f *form) lines(columns, room int) []string {
	out := []string{bold.Render(fit.Cut(f.title, columns))}
	if f.asking {
		for _, line := range fit.FoldWithin(f.confirm, columns) {
			out = append(out, plain.Render(line))
		}
		return append(out, "")
	}
	wide, tall := 0, room-3
	for i := range f.fields {
		wide = max(wide, len(f.fields[i].label))
		if f.fields[i].area == nil {
			tall--
		}
	}
	for i := range f.fields {
		for j, line := range f.fields[i].draw(columns-wide-2, min(max(tall, 1), maxTall), i == f.at) {
			label := f.fields[i].label
			if j > 0 {
				label = ""
			}
			out = append(out, beside(fit.Pad(label, wide)+"  ", line, columns))
		}
	}
	switch {
	case f.wrong != "":
		return append(out, red.Render(fit.Cut(words.Terminal(f.wrong), columns)))
	case f.busy:
		return append(out, faint.Render(fit.Cut(f.action.String()+"…", columns)))
	}
	return append(out, "")
}

// keys returns what the keys do in the form.
func (f *form) keys() []hint {
	if f.asking {
		var out []hint
		for _, a := range f.answers {
			out = append(out, hint{a.key, a.does})
		}
		return append(out, hint{"Esc", "leave it as it is"})
	}
	keys := []hint{{"Enter", f.enter}, {"Esc", "leave"}}
	if len(f.fields) == 0 {
		return keys
	}
	if len(f.fields) > 1 {
		keys = append(keys, hint{"Tab", "next field"})
	}
	switch now := &f.fields[f.at]; {
	case now.area != nil:
		keys = append(keys, hint{"Ctrl-J", "new line"})
	case now.list != nil:
		keys = append(keys, hint{"← →", "choose"}, hint{"a-z", "search"})
	}
	return keys
}

// beside puts a label and its field on one line. It cuts the label to the width.
func beside(label, field string, columns int) string {
	if fit.Width(label) >= columns {
		return faint.Render(fit.Cut(label, columns))
	}
	return faint.Render(label) + field
}
