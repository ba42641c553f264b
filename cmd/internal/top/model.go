package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

// screen is one of the screens that fill the terminal.
type screen int

const (
	listScreen screen = iota
	detailScreen
	helpScreen
	diffScreen
	dialogScreen
)

// frame is what all parts of the screen share: its size, the time, and what came of the last action.
type frame struct {
	ctx  context.Context // the context of the commands
	cfg  Config
	w, h int
	now  time.Time

	said   string // the result of the last action
	saidAt time.Time
	wrong  bool // said is an error
}

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

// pages is what is shown of the rows: the list with the preview, and the pages of one row.
type pages struct {
	board
	screen  screen
	detail  details
	diff    diffView
	dialog  dialogView
	scroll  int // the number of lines of the details or the help that are above the screen
	preview preview
}

// model is the state of the program: the pages, and what the operator is doing. Only the program's loop changes it.
type model struct {
	pages
	form    *form
	drafts  map[int64]string // by agent: messages that were not sent
	click   click            // the last click
	pressed time.Time        // when y, Y or n was pressed last

	sent        []daemon.Delivery // texts whose verdict the operator is told
	readingSent bool
}

// fades is the time for which the screen shows the result of an action.
const fades = 20 * time.Second

type tickMsg time.Time

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

func newModel(ctx context.Context, cfg Config, first snapshot) *model {
	m := &model{drafts: map[int64]string{}}
	m.frame = frame{ctx: ctx, cfg: cfg, w: 80, h: 24, now: first.at}
	m.filter = newField(maxFilter)
	m.take(first)
	if len(m.rows) > 0 {
		m.choose(0)
	}
	return m
}

// Init implements [tea.Model].
func (m *model) Init() tea.Cmd { return tick() }

// Update implements [tea.Model].
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.watch())
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tickMsg:
		m.now = time.Time(msg)
		if m.now.Sub(m.saidAt) > fades {
			m.said = ""
		}
		return tea.Batch(tick(), m.readDetails(false), m.looked())
	case freshMsg:
		m.now, m.lost, m.detail.old = msg.at, nil, true
		m.take(snapshot(msg))
		return m.readSent()
	case lostMsg:
		m.lost = msg.err
	case detailsMsg:
		if msg.key == m.detail.key {
			m.detail.took(msg)
		}
	case diffMsg:
		m.diff.took(msg)
	case dialogMsg:
		m.dialog.took(msg)
	case doneMsg:
		return m.done(msg)
	case offerMsg:
		m.offered(msg)
	case sentMsg:
		m.tookSent(msg)
	case previewMsg:
		return m.preview.took(msg)
	case previewTick:
		return m.previewDue(msg)
	case tea.PasteMsg:
		m.paste(msg)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.MouseClickMsg:
		return m.clicked(msg.Mouse())
	case tea.MouseWheelMsg:
		m.wheel(msg.Mouse())
	}
	return nil
}

// done shows the result of an action. A form that waits for it closes, or shows why the action failed.
func (m *model) done(msg doneMsg) tea.Cmd {
	m.detail.old, m.preview.again = true, true
	f := msg.form
	if f != nil && f == m.form && msg.err != nil {
		f.busy, f.wrong = false, m.cfg.Explain(msg.err)
		if errors.Is(msg.err, errSlow) {
			f.wrong = "the daemon does not answer; it may have been done: look before you do it again"
		}
		if told, ok := errors.AsType[*daemon.Error](msg.err); ok && told.Code == daemon.CodeTextIsCommand && !f.action.runs {
			f.asCommand()
		}
		return nil
	}
	if f != nil && msg.err == nil {
		delete(m.drafts, f.action.agent)
		if f == m.form {
			m.form = nil
		}
	}
	m.tell(msg.said, msg.err)
	if msg.agent != 0 {
		m.awaited = msg.agent
	}
	m.follow(msg.sent)
	if msg.quits {
		return tea.Quit
	}
	return nil
}

// tell shows the result of an action.
func (m *frame) tell(said string, err error) {
	if err != nil {
		said = m.cfg.Explain(err)
	}
	m.say(said, err != nil)
}

func (m *frame) say(said string, wrong bool) { m.said, m.wrong, m.saidAt = said, wrong, m.now }

// take shows a snapshot. The same row stays selected, even if its place has changed.
func (m *model) take(s snapshot) {
	m.data = s
	m.arrange()
	// Keys act on the selected row, so it stays the one that a page or a form is about.
	if at := m.find(key{agentRow, m.awaited}); m.awaited != 0 && at >= 0 && m.screen == listScreen && m.form == nil {
		m.choose(at)
	}
	if m.selected == nil {
		return
	}
	if at := m.find(*m.selected); at >= 0 {
		m.at = at
	} else if at := m.find(key{agentRow, m.data.goesOnFrom(*m.selected)}); at >= 0 && m.screen == listScreen && m.form == nil {
		m.say(fmt.Sprintf("%s has ended; %s goes on with its work", m.selected, m.rows[at].key), false)
		m.choose(at)
		m.followedAt = m.now
	} else {
		m.gone, m.selected = m.selected, nil
	}
}

// goesOnFrom returns the agent that goes on with the work of a row's agent, which has ended; 0: none does, or several do.
func (s *snapshot) goesOnFrom(k key) (id int64) {
	if k.kind != agentRow {
		return 0
	}
	for i := range s.agents {
		a := &s.agents[i]
		if a.PreviousAgentID == nil || *a.PreviousAgentID != k.id {
			continue
		}
		if id != 0 {
			return 0
		}
		id = a.ID
	}
	return id
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

func (m *model) paste(p tea.PasteMsg) {
	switch {
	case m.form != nil:
		m.form.paste(p)
	case m.filtering:
		typed(&m.filter, p)
		m.refilter()
	}
}

// do begins an action. f is the form that waits for its result; nil: none does.
func (m *model) do(a action, f *form) tea.Cmd {
	m.say(a.String()+"…", false)
	a.home = m.cfg.Home
	run := a.command(m.ctx, m.cfg.Client)
	return func() tea.Msg {
		done := run()
		done.form = f
		return done
	}
}

// see tells the daemon that the operator looks at the row's agent.
func (m *board) see(r *row) tea.Cmd {
	if r.agent == nil || !r.agent.Unread {
		return nil
	}
	ctx, c, agent := m.ctx, m.cfg.Client, *r.agent
	return func() tea.Msg {
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
		defer cancel()
		if err := c.SeeAgent(ctx, &agent); err != nil {
			return doneMsg{err: slow(ctx, err)}
		}
		return nil
	}
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

// refuse shows why a key does nothing.
func (m *frame) refuse(why string) tea.Cmd {
	m.say(why, true)
	return nil
}
