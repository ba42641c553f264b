package top

import (
	"context"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// board is the rows and which of them is selected.
type board struct {
	frame
	data   snapshot
	rows   []row         // the rows that match the filter
	all    int           // the number of rows without the filter
	counts map[group]int // the number of all rows in each group
	lost   error         // why the source can't read the daemon; nil while it can

	filter    textinput.Model
	filtering bool

	// selected is the row that keys act on. When that row disappears, selected is nil until the operator moves, because
	// a key must not act on the row that took its place.
	selected   *key
	gone       *key      // the selected row that disappeared
	at         int       // the index of the selected row in rows, now or before the row disappeared
	chosenAt   time.Time // when the operator moved to the selected row
	followedAt time.Time // when the selection went with the work of an agent that ended to the agent that goes on with it
	awaited    int64     // the agent that the operator has started, and that is selected when it appears; 0: none
}

// find returns the index of a row. The index is negative if there is no such row.
func (m *board) find(k key) int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.key == k })
}

// row returns the selected row, or nil if none is selected.
func (m *board) row() *row {
	if m.selected == nil {
		return nil
	}
	if i := m.find(*m.selected); i >= 0 {
		return &m.rows[i]
	}
	return nil
}

// choose selects the row at an index. If there is no row at that index, it selects the nearest one.
func (m *board) choose(at int) {
	if len(m.rows) == 0 {
		m.selected = nil
		return
	}
	m.at = max(min(at, len(m.rows)-1), 0)
	k := m.rows[m.at].key
	if m.selected == nil || *m.selected != k {
		m.chosenAt = m.now
	}
	m.selected, m.gone, m.awaited, m.followedAt = &k, nil, 0, time.Time{}
}

// move moves the selection by that many rows. If the selected row has disappeared, move counts from the row that took
// its place.
func (m *board) move(by int) {
	if m.selected == nil && by > 0 {
		by--
	}
	m.choose(m.at + by)
}

// next returns the index of the next row in that direction that needs a person or has finished. It is negative if there is
// none, and it may be the selected row.
func (m *board) next(by int) int {
	from := m.at
	if m.selected == nil && by > 0 {
		from-- // count from the row that took the place of the one that disappeared
	}
	n := len(m.rows)
	for i := 1; i <= n; i++ {
		if at := (from + i*by + 2*n) % n; m.rows[at].flagged() {
			return at
		}
	}
	return -1
}

// jump selects the next row in that direction that needs a person or has finished.
func (m *board) jump(by int) tea.Cmd {
	at := m.next(by)
	if at < 0 {
		return m.refuse("nothing needs you, and nobody has finished")
	}
	m.choose(at)
	return nil
}

// arrange makes the rows from the snapshot and the filter.
func (m *board) arrange() {
	before := m.at
	rows := rowsOf(m.data)
	m.all, m.counts = len(rows), map[group]int{}
	for i := range rows {
		m.counts[rows[i].group]++
	}
	m.rows = slices.DeleteFunc(rows, func(r row) bool { return !r.matches(m.filter.Value()) })
	m.at = max(min(before, len(m.rows)-1), 0)
}

// refilter shows the rows that match the filter. If the selected row does not match, it may select the first row, since
// the operator has changed the filter.
func (m *board) refilter() {
	m.arrange()
	if m.selected != nil {
		if at := m.find(*m.selected); at >= 0 {
			m.at = at
			return
		}
	}
	m.choose(0)
}

// see tells the daemon that the operator looks at the row's agent.
func (m *board) see(r *row) tea.Cmd {
	if r.agent == nil || !r.agent.Unread {
		return nil
	}
	agent := *r.agent
	return m.ask(patience, func(ctx context.Context, c *api.Client) tea.Msg {
		if err := c.SeeAgent(ctx, &agent); err != nil {
			return doneMsg{err: slow(ctx, err)}
		}
		return nil
	})
}

// attach shows the selected agent's pane until the operator leaves it.
func (m *board) attach() tea.Cmd {
	r := m.row()
	switch {
	case r == nil || r.kind != agentRow:
		return m.refuse("a attaches to an agent: select one")
	case !r.agent.Active():
		return m.refuse(r.String() + " has ended")
	case !r.agent.HasPane():
		return m.refuse(fmt.Sprintf("agent %d has no tmux pane", r.id))
	}
	m.said = "" // attach tells the daemon that its agent is seen
	cmd, complaint := m.cfg.Attach(r.id), &head{}
	cmd.Stderr = complaint
	quits := m.cfg.Behind != nil && m.cfg.Behind(r.agent)
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err != nil {
			return doneMsg{err: daemon.Errorf(daemon.KindInternal, "attach", "%s", complaint.sentence(err))}
		}
		return doneMsg{quits: quits}
	})
}
