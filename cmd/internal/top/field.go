package top

import (
	"fmt"
	"slices"
	"strings"

	keymap "charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/words"
)

// The lengths of the longest texts that the daemon accepts, in characters.
const (
	maxReason   = 200
	maxFocus    = 10_000
	maxComment  = 10_000
	maxFilter   = 100
	maxSentence = 2000
	maxName     = 80
	maxPath     = 4096
	maxMessage  = 64 << 10
)

// maxTall is the height of the tallest field for several lines.
const maxTall = 6

// field is one field of a form: a line, several lines, or a choice.
type field struct {
	label string
	line  *textinput.Model
	area  *textarea.Model
	list  *choice
	set   func(a *action, value string) // puts the value into the form's action
}

func lineField(label, placeholder, value string, limit int, set func(*action, string)) field {
	f := newField(limit)
	f.Placeholder = placeholder
	f.SetValue(words.Terminal(value))
	return field{label: label, line: &f, set: set}
}

func areaField(label, placeholder, value string, limit int, set func(*action, string)) field {
	f := textarea.New()
	f.Placeholder, f.CharLimit, f.MaxHeight, f.Prompt, f.ShowLineNumbers = placeholder, limit, 0, "", false
	f.EndOfBufferCharacter = ' '
	f.KeyMap.InsertNewline = keymap.NewBinding(keymap.WithKeys("ctrl+j", "alt+enter", "shift+enter"))
	look := textarea.StyleState{Placeholder: faint}
	f.SetStyles(textarea.Styles{Focused: look, Blurred: look})
	f.SetValue(value)
	return field{label: label, area: &f, set: set}
}

func choiceField(label string, c *choice, set func(*action, string)) field {
	return field{label: label, list: c, set: set}
}

func (f *field) value() string {
	switch {
	case f.line != nil:
		return f.line.Value()
	case f.area != nil:
		return f.area.Value()
	}
	return f.list.value()
}

func (f *field) focus() {
	switch { // ignore the commands: they make the cursor blink
	case f.line != nil:
		f.line.Focus()
	case f.area != nil:
		f.area.Focus()
	default:
		f.list.typed = ""
	}
}

func (f *field) blur() {
	switch {
	case f.line != nil:
		f.line.Blur()
	case f.area != nil:
		f.area.Blur()
	}
}

// press gives a key to the field. If the key leads to another field, it returns by how many.
func (f *field) press(k tea.KeyPressMsg) (by int) {
	name := k.String()
	switch {
	case f.list != nil:
		return f.list.press(k)
	case f.area != nil && name == "up" && f.area.Line() == 0 && f.area.LineInfo().RowOffset == 0:
		return -1
	case f.line != nil && name == "down":
		return 1
	case f.line != nil && name == "up":
		return -1
	}
	f.give(k)
	return 0
}

// give gives a key or a paste to the field.
func (f *field) give(msg tea.Msg) {
	switch {
	case f.line != nil:
		typed(f.line, msg)
	case f.area != nil:
		*f.area, _ = f.area.Update(msg)
		lines := strings.Split(f.area.Value(), "\n")
		for i := range lines {
			lines[i] = words.Terminal(lines[i])
		}
		if v := strings.Join(lines, "\n"); v != f.area.Value() {
			f.area.SetValue(v)
		}
	}
}

// draw draws the field; one of several lines with that many lines.
func (f *field) draw(columns, tall int, now bool) []string {
	switch {
	case f.line != nil:
		return []string{drawn(f.line, columns)}
	case f.list != nil:
		return []string{f.list.draw(columns, now)}
	}
	f.area.SetHeight(tall)
	f.area.SetWidth(max(columns, 2))
	lines := strings.Split(f.area.View(), "\n")
	for i := range lines {
		lines[i] = fit.Head(lines[i], columns) + ansi.ResetStyle
	}
	return lines
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

// option is one of the values of a choice.
type option struct {
	value string
	name  string // how it is shown; "": the value
	about string // more about it
}

func (o option) shown() string {
	if o.name != "" {
		return o.name
	}
	return o.value
}

// choice is a value out of a list. The arrows go through the list, and what is typed looks for a name in it.
type choice struct {
	options []option
	at      int
	typed   string
	reading bool // more options are being read
}

func (c *choice) value() string {
	if c.at < len(c.options) {
		return c.options[c.at].value
	}
	return ""
}

// offer replaces the options. The same value stays chosen.
func (c *choice) offer(options []option) {
	before := c.value()
	c.options, c.reading = options, false
	c.at = max(slices.IndexFunc(options, func(o option) bool { return o.value == before }), 0)
}

func (c *choice) press(k tea.KeyPressMsg) (by int) {
	switch name := k.String(); {
	case name == "down":
		return 1
	case name == "up":
		return -1
	case len(c.options) == 0:
	case name == "right" || name == "left":
		step := map[string]int{"right": 1, "left": len(c.options) - 1}[name]
		c.at, c.typed = (c.at+step)%len(c.options), ""
	case name == "backspace":
		c.typed = ""
	case k.Text != "":
		c.look(c.typed + strings.ToLower(k.Text))
	}
	return 0
}

// look chooses the next option whose name has a text, beginning with the one that is chosen. Without one, nothing changes.
func (c *choice) look(text string) {
	for i := range c.options {
		at := (c.at + i) % len(c.options)
		if strings.Contains(strings.ToLower(c.options[at].shown()), text) {
			c.at, c.typed = at, text
			return
		}
	}
}

func (c *choice) draw(columns int, now bool) string {
	if len(c.options) == 0 {
		said := "-"
		if c.reading {
			said = "reading…"
		}
		return faint.Render(fit.Cut(said, columns))
	}
	o := c.options[c.at]
	name, rest := words.Terminal(o.shown()), ""
	if now {
		name = "‹ " + name + " ›"
		if len(c.options) > 1 {
			rest = fmt.Sprintf("  %d of %d", c.at+1, len(c.options))
		}
		if c.typed != "" {
			rest += "  " + words.Terminal(c.typed)
		}
	}
	if o.about != "" {
		rest += "  " + words.Terminal(o.about)
	}
	name = fit.Cut(name, columns)
	s := plain
	if now {
		s = bold
	}
	return s.Render(name) + faint.Render(fit.Cut(rest, columns-fit.Width(name)))
}
