package top

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

func clickAt(m *model, x, y int) tea.Cmd {
	_, cmd := m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	return cmd
}

func TestMouse(t *testing.T) {
	t.Parallel()
	var agents []daemon.Agent
	for id := range int64(40) {
		agents = append(agents, agent(id+1, daemon.Idle, 1))
	}
	m := opened(t, snapshot{agents: agents})
	at := func(id int64) (y int) { // the line that shows an agent
		for y, line := range m.screenLines() {
			if strings.Contains(escapes.ReplaceAllString(line, ""), "  agent-"+string(rune('0'+id/10))+string(rune('0'+id%10))+" ") {
				return y
			}
		}
		return -1
	}
	pressed(m, "end")
	y := at(30)
	if clickAt(m, 9, y); m.row().id != 30 || m.screen != listScreen {
		t.Errorf("a click selects %s", m.row())
	}
	if clickAt(m, 9, at(31)); m.row().id != 31 || m.screen != listScreen {
		t.Errorf("two clicks on two rows lead to %s, screen %d", m.row(), m.screen)
	}
	if clickAt(m, 9, at(31)); m.screen != detailScreen {
		t.Error("a double click opens no details")
	}
	pressed(m, "esc")
	m.Update(tea.MouseWheelMsg{X: 9, Y: 9, Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{X: 9, Y: 9, Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{X: 9, Y: 9, Button: tea.MouseWheelUp})
	equal(t, "the wheel moves to", m.row().id, 32)
	for _, y := range []int{0, 1, m.h - 2, m.h - 9} { // title, head, status, panel
		clickAt(m, 9, y)
		equal(t, fmt.Sprintf("the row after a click on line %d", y), m.row().id, 32)
	}
	if clickAt(m, strings.Index(m.last(), "s stop"), m.h-1); m.form == nil || m.form.action.verb != stopAgent {
		t.Error("a click on a key does not press it")
	}
	if clickAt(m, 9, 4); m.form == nil || m.row().id != 32 {
		t.Error("a click behind the form does something")
	}
	if clickAt(m, strings.Index(m.last(), "Esc"), m.h-1); m.form != nil {
		t.Error("a click on Esc does not leave the form")
	}
	clickAt(m, strings.Index(m.last(), "? all"), m.h-1)
	if m.h = 10; m.screen != helpScreen {
		t.Fatal("a click on ? shows no help")
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	equal(t, "the wheel scrolls to", m.scroll, 3)
}

// A click in the preview never selects the row beside it, and a double click attaches.
func TestMouseInPreview(t *testing.T) {
	t.Parallel()
	bare := agent(1, daemon.Idle, 1)
	bare.Pane = nil // so that attach says why it does nothing
	m := opened(t, snapshot{agents: []daemon.Agent{bare, agent(2, daemon.Idle, 1), agent(3, daemon.Idle, 1)}})
	m.preview.mode = previewAuto
	for _, c := range []struct{ columns, x, y int }{{120, 61, 3}, {80, 5, 12}} {
		if m.Update(tea.WindowSizeMsg{Width: c.columns, Height: 24}); c.columns < besideFrom {
			m.preview.mode = previewPart
		}
		m.choose(0)
		m.click, m.said = click{}, ""
		if clickAt(m, c.x, c.y); m.row().id != 1 || m.said != "" {
			t.Errorf("one click at %d columns: selected %s, said %q", c.columns, m.row(), m.said)
		}
		if clickAt(m, c.x, c.y); !strings.Contains(m.said, "no tmux pane") {
			t.Errorf("a double click at %d columns does not attach: %q", c.columns, m.said)
		}
		clickAt(m, 9, 4)
		equal(t, fmt.Sprintf("the row after a click in the list at %d columns", c.columns), m.row().id, 3)
	}
}
