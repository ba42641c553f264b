package top

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
)

// dialogView is the content of the screen that shows the dialog in an agent's pane. A digit selects one of its choices, and Enter
// takes it.
type dialogView struct {
	reply[sight.Dialog]
	choice int // the number of the selected choice; 0: none
}

// openDialog opens the screen with the dialog in the pane of the row's agent.
func (m *pages) openDialog(r *row) tea.Cmd {
	if r.kind != agentRow || !r.agent.Active() {
		return m.refuse("x shows the dialog in an agent's pane: select an agent")
	}
	return m.readDialog(r.id)
}

func (m *pages) readDialog(agent int64) tea.Cmd {
	m.dialog.choice = 0
	return openPage(m, dialogScreen, &m.dialog.reply, agent, actionTime, func(ctx context.Context, c *api.Client) (sight.Dialog, error) {
		return c.Dialog(ctx, agent)
	})
}

// offers reports whether the operator can take a choice of the dialog here.
func (v *dialogView) offers(choice int) bool {
	d := v.said
	return d != nil && v.err == nil && d.Why == "" && choice > 0 && choice <= len(d.Choices) && !d.Choices[choice-1].Input
}

func (m *pages) pressDialog(name string) tea.Cmd {
	if by, ok := m.moves(name, len(m.dialogLines(m.w))); ok {
		m.scrollBy(by)
		return nil
	}
	v := &m.dialog
	if choice := strings.Index("0123456789", name); len(name) == 1 && v.offers(choice) {
		v.choice = choice
		return nil
	}
	switch name {
	case "r":
		return m.readDialog(v.agent)
	case "a":
		return m.attach()
	case "enter":
		if v.choice > 0 {
			return m.takeChoice(v.said, v.choice)
		}
	case "x", "q", "esc":
	default:
		return nil
	}
	m.leavePage()
	return nil
}

// takeChoice answers the dialog that the screen showed, and no other one.
func (m *pages) takeChoice(d *sight.Dialog, choice int) tea.Cmd {
	m.leavePage()
	m.say(fmt.Sprintf("answering the dialog of agent %d…", d.AgentID), false)
	return m.ask(actionTime, func(ctx context.Context, c *api.Client) tea.Msg {
		in, err := c.AnswerDialog(ctx, d.AgentID, d.ID, choice)
		return doneMsg{said: fmt.Sprintf("dialog of agent %d: %s", d.AgentID, in.Words()), err: slow(ctx, err)}
	})
}

// dialogLines returns all lines of the dialog, also those for which the screen has no room.
func (m *pages) dialogLines(columns int) []string {
	p := paper{columns: columns, say: m.cfg.Words}
	v := &m.dialog
	switch {
	case v.said == nil:
		p.line(fmt.Sprintf("reading the dialog of agent %d …", v.agent))
		return p.lines
	case v.err != nil:
		p.styled(red, m.cfg.Explain(v.err))
		return p.lines
	}
	p.head(fmt.Sprintf("agent %d asks: %s", v.agent, v.said.Name))
	p.blank()
	p.text(words.Page(v.said.Text))
	p.blank()
	for _, c := range v.said.Choices {
		line := fmt.Sprintf("%d  %s", c.Number, c.Label)
		if c.Input {
			line += " (it asks for a text: attach, a)"
		}
		style := plain
		if c.Number == v.choice {
			style, line = bold, "▸ "+line
		} else {
			line = "  " + line
		}
		p.styled(style, line)
	}
	switch {
	case v.said.Why != "":
		p.styled(yellow, "it can't be answered here: "+v.said.Why)
	case v.choice > 0:
		p.blank()
		p.styled(yellow, fmt.Sprintf("Enter takes %d, %s", v.choice, words.Quote(v.said.Choices[v.choice-1].Label)))
	}
	return p.lines
}

// dialogHints returns the keys that have an effect on the screen.
func (m *pages) dialogHints() []hint {
	var keys []hint
	switch v := &m.dialog; {
	case v.choice > 0:
		keys = append(keys, hint{"Enter", "take it"}, hint{"1-9", "another choice"})
	case v.offers(1) || v.offers(2):
		keys = append(keys, hint{"1-9", "choose"})
	}
	return append(keys, hint{"r", "read again"}, hint{"a", "attach"}, hint{"Esc", "back"})
}
