package top

import (
	"fmt"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// The lengths of the longest texts that the daemon accepts, in characters.
const (
	maxReason   = 200
	maxFocus    = 10_000
	maxComment  = 10_000
	maxFilter   = 100
	maxSentence = 2000
)

// form asks the operator for the texts of an action. While a form is open it gets all keys.
type form struct {
	title   string
	enter   string // the meaning of Enter in the line of keys
	labels  []string
	fields  []textinput.Model
	at      int    // the index of the field that the operator types into
	action  action // the action that starts when the form is done
	confirm string // the question that Enter shows before the action; "" if there is none
	asking  bool   // the form shows the question
}

// newField makes an empty field, in the terminal's own colours.
func newField(limit int) textinput.Model {
	f := textinput.New()
	f.Prompt = ""
	f.CharLimit = limit
	plain := textinput.StyleState{Placeholder: lipgloss.NewStyle().Faint(true)}
	f.SetStyles(textinput.Styles{Focused: plain, Blurred: plain})
	return f
}

// typed gives a key or a paste to a field. It drops the characters that a terminal cannot show.
func typed(f *textinput.Model, msg tea.Msg) {
	*f, _ = f.Update(msg)
	if v := f.Value(); v != words.Terminal(v) {
		f.SetValue(words.Terminal(v))
	}
}

// drawn draws a field with a width of that many columns. The cursor after the text is part of the width.
func drawn(f *textinput.Model, columns int) string {
	f.SetWidth(max(columns-1, 1))
	f.SetCursor(f.Position()) // so that the field scrolls for the new width
	return plain.MaxWidth(max(columns, 1)).Render(f.View())
}

func handOffForm(r *row) *form {
	reason, focus := newField(maxReason), newField(maxFocus)
	reason.Placeholder = "manual"
	focus.Placeholder = "what the document should dwell on"
	f := &form{
		title: "Hand off " + named(r), enter: "hand off",
		labels: []string{"reason", "focus"}, fields: []textinput.Model{reason, focus},
		action: action{verb: handOff, agent: r.id},
	}
	f.fields[0].Focus()
	return f
}

func decisionForm(r *row, v verb) *form {
	comment := newField(maxComment)
	comment.Placeholder = "may be left empty"
	f := &form{
		title: "Approve " + named(r), enter: "approve",
		labels: []string{"comment"}, fields: []textinput.Model{comment},
		action: action{verb: v, pipeline: r.id},
	}
	if i := r.pipeline.Front(); i < len(r.pipeline.Steps) {
		f.action.step = r.pipeline.Steps[i].ID
	}
	if v == reject {
		f.title, f.enter = "Reject "+named(r), "go on"
		f.confirm = fmt.Sprintf("Reject pipeline %d? That ends it.", r.id)
	}
	f.fields[0].Focus()
	return f
}

// permissionForm asks for the answer to a permission. Only a refusal has a text.
func permissionForm(p *daemon.Permission, v verb) *form {
	f := &form{action: action{verb: v, asked: *p}}
	switch v {
	case allowOnce:
		f.title, f.enter = "Allow once: "+words.Terminal(p.Line()), "allow"
	case allowAgent:
		f.title, f.enter = fmt.Sprintf("Allow agent %d from now on: %s", p.AgentID, words.Terminal(p.Rule)), "allow"
	default:
		sentence := newField(maxSentence)
		sentence.Placeholder = "what the agent should do instead; may be left empty"
		f.title, f.enter = "Deny: "+words.Terminal(p.Line()), "deny"
		f.labels, f.fields = []string{"sentence"}, []textinput.Model{sentence}
		f.fields[0].Focus()
	}
	return f
}

// named returns the name of a row in a form.
func named(r *row) string { return fmt.Sprintf("%s (%s)", r.key, words.Terminal(r.name())) }

// filled returns the action with the texts of the fields.
func (f *form) filled() action {
	a := f.action
	if len(f.fields) == 0 {
		return a
	}
	a.text = f.fields[len(f.fields)-1].Value()
	if a.verb == handOff {
		a.reason = f.fields[0].Value()
	}
	return a
}

// answer is the effect of a key on a form.
type answer int

const (
	stays answer = iota
	leaves
	does
)

// press gives a key to the form.
func (f *form) press(k tea.KeyPressMsg) answer {
	name := k.String()
	switch {
	case name == "esc":
		return leaves
	case f.asking:
		if name == "y" {
			return does
		}
		return leaves
	case name == "enter" && f.confirm != "":
		f.asking = true
	case name == "enter":
		return does
	case len(f.fields) == 0:
	case name == "tab" || name == "down":
		f.move(1)
	case name == "shift+tab" || name == "up":
		f.move(-1)
	default:
		typed(&f.fields[f.at], k)
	}
	return stays
}

// paste puts a text into the field that the operator types into.
func (f *form) paste(p tea.PasteMsg) {
	if !f.asking && len(f.fields) > 0 {
		typed(&f.fields[f.at], p)
	}
}

func (f *form) move(by int) {
	f.fields[f.at].Blur()
	f.at = (f.at + by + len(f.fields)) % len(f.fields)
	f.fields[f.at].Focus()
}

// lines draws the form.
func (f *form) lines(columns int) []string {
	out := []string{bold.Render(cut(f.title, columns))}
	if f.asking {
		return append(out, cut(f.confirm, columns), "", keysLine(columns, "y", "reject", "any other key", "leave it as it is"))
	}
	wide := 0
	for _, l := range f.labels {
		wide = max(wide, len(l))
	}
	for i := range f.fields {
		label := pad(f.labels[i], wide) + "  "
		out = append(out, beside(label, drawn(&f.fields[i], columns-width(label)), columns))
	}
	keys := []string{"Enter", f.enter, "Esc", "leave"}
	if len(f.fields) > 1 {
		keys = append(keys, "Tab", "next field")
	}
	return append(out, "", keysLine(columns, keys...))
}

// beside puts a label and its field on one line. It cuts the label to the width.
func beside(label, field string, columns int) string {
	if width(label) >= columns {
		return faint.Render(cut(label, columns))
	}
	return faint.Render(label) + field
}
