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
	agent  int64
	asked  int // counts the reads, so that a late answer to an earlier one is dropped
	dialog *sight.Dialog
	err    error
	choice int // the number of the selected choice; 0: none
}

type dialogMsg struct {
	asked  int
	dialog sight.Dialog
	err    error
}

// openDialog opens the screen with the dialog in the pane of the row's agent.
func (m *pages) openDialog(r *row) tea.Cmd {
	if r.kind != agentRow || !r.agent.Active() {
		return m.refuse("x shows the dialog in an agent's pane: select an agent")
	}
	return m.readDialog(r.id)
}

func (m *pages) readDialog(agent int64) tea.Cmd {
	m.screen, m.scroll = dialogScreen, 0
	m.dialog = dialogView{agent: agent, asked: m.dialog.asked + 1}
	asked := m.dialog.asked
	return m.ask(actionTime, func(ctx context.Context, c *api.Client) tea.Msg {
		d, err := c.Dialog(ctx, agent)
		return dialogMsg{asked, d, slow(ctx, err)}
	})
}

func (v *dialogView) took(msg dialogMsg) {
	if msg.asked == v.asked {
		v.dialog, v.err = &msg.dialog, msg.err
	}
}

// offers reports whether the operator can take a choice of the dialog here.
func (v *dialogView) offers(choice int) bool {
	d := v.dialog
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
			return m.takeChoice(v.dialog, v.choice)
		}
	case "x", "q", "esc":
	default:
		return nil
	}
	m.leaveDialog()
	return nil
}

func (m *pages) leaveDialog() {
	m.screen, m.scroll = listScreen, 0
	if m.detail.key.id != 0 {
		m.screen = detailScreen
	}
}

// takeChoice answers the dialog that the screen showed, and no other one.
func (m *pages) takeChoice(d *sight.Dialog, choice int) tea.Cmd {
	m.leaveDialog()
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
	case v.dialog == nil:
		p.line(fmt.Sprintf("reading the dialog of agent %d …", v.agent))
		return p.lines
	case v.err != nil:
		p.styled(red, m.cfg.Explain(v.err))
		return p.lines
	}
	p.head(fmt.Sprintf("agent %d asks: %s", v.agent, v.dialog.Name))
	p.blank()
	p.text(words.Page(v.dialog.Text))
	p.blank()
	for _, c := range v.dialog.Choices {
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
	case v.dialog.Why != "":
		p.styled(yellow, "it can't be answered here: "+v.dialog.Why)
	case v.choice > 0:
		p.blank()
		p.styled(yellow, fmt.Sprintf("Enter takes %d, %s", v.choice, words.Quote(v.dialog.Choices[v.choice-1].Label)))
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
