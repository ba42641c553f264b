package top

import (
	"context"
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/daemon"
)

// screen is what fills the terminal.
type screen int

const (
	listScreen screen = iota
	detailScreen
	helpScreen
)

// model is all that the program shows. Its loop alone changes it.
type model struct {
	ctx  context.Context // of commands
	cfg  Config
	w, h int
	now  time.Time

	data   snapshot
	rows   []row         // those that the filter leaves
	all    int           // how many there are without it
	counts map[group]int // of all
	lost   error         // why the daemon can't be read; nil: it can

	// selected is whom the keys are about; nil when that row has gone, until the operator moves: a key is
	// never about a row that came to stand where another was.
	selected *key
	gone     *key // who was selected before
	at       int  // where in rows that is, or was

	screen    screen
	detail    details
	scroll    int // lines of the details, or of the help, above the screen
	filter    textinput.Model
	filtering bool
	form      *form

	said   string // what came of the last action
	saidAt time.Time
	wrong  bool // it is an error
}

// fades is how long it is shown what came of an action.
const fades = 20 * time.Second

type tickMsg time.Time

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

func newModel(ctx context.Context, cfg Config, first snapshot) *model {
	m := &model{ctx: ctx, cfg: cfg, w: 80, h: 24, now: first.at, filter: newField(maxFilter)}
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
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tickMsg:
		m.now = time.Time(msg)
		if m.now.Sub(m.saidAt) > fades {
			m.said = ""
		}
		return m, tea.Batch(tick(), m.readDetails(false))
	case freshMsg:
		m.now, m.lost, m.detail.old = msg.at, nil, true
		m.take(snapshot(msg))
	case lostMsg:
		m.lost = msg.err
	case detailsMsg:
		if msg.key == m.detail.key {
			m.detail.took(msg)
		}
	case doneMsg:
		m.tell(msg.said, msg.err)
		m.detail.old = true
	case tea.PasteMsg:
		m.paste(msg)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	return m, nil
}

// tell shows what came of an action.
func (m *model) tell(said string, err error) {
	if err != nil {
		said = m.cfg.Explain(err)
	}
	m.say(said, err != nil)
}

func (m *model) say(said string, wrong bool) { m.said, m.wrong, m.saidAt = said, wrong, m.now }

// take shows what the source saw. The selection stays with whom it was on.
func (m *model) take(s snapshot) {
	m.data = s
	m.arrange()
	if m.selected == nil {
		return
	}
	if at := m.find(*m.selected); at >= 0 {
		m.at = at
	} else {
		m.gone, m.selected = m.selected, nil
	}
}

// arrange makes the rows anew.
func (m *model) arrange() {
	before := m.at
	rows := rowsOf(m.data)
	m.all, m.counts = len(rows), map[group]int{}
	for i := range rows {
		m.counts[rows[i].group]++
	}
	m.rows = slices.DeleteFunc(rows, func(r row) bool { return !r.matches(m.filter.Value()) })
	m.at = max(min(before, len(m.rows)-1), 0)
}

// find returns where a row is; negative: nowhere.
func (m *model) find(k key) int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.key == k })
}

// row returns the selected one; nil: none is.
func (m *model) row() *row {
	if m.selected == nil {
		return nil
	}
	if i := m.find(*m.selected); i >= 0 {
		return &m.rows[i]
	}
	return nil
}

// choose selects the row at a place, or the nearest.
func (m *model) choose(at int) {
	if len(m.rows) == 0 {
		m.selected = nil
		return
	}
	m.at = max(min(at, len(m.rows)-1), 0)
	k := m.rows[m.at].key
	m.selected, m.gone = &k, nil
}

// move moves the selection by so many rows. Where a row has gone the next one stands in its place.
func (m *model) move(by int) {
	if m.selected == nil && by > 0 {
		by--
	}
	m.choose(m.at + by)
}

// refilter shows what the filter leaves. That is the operator's doing, so the first row may be selected.
func (m *model) refilter() {
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

// do begins an action.
func (m *model) do(a action) tea.Cmd {
	m.say(a.String()+"…", false)
	return a.command(m.ctx, m.cfg.Client)
}

// attach shows the selected agent's pane until the operator leaves it.
func (m *model) attach() tea.Cmd {
	r := m.row()
	switch {
	case r == nil || r.kind != agentRow:
		return m.refuse("a attaches to an agent: select one")
	case !r.agent.Active():
		return m.refuse(r.String() + " has ended")
	case !r.agent.HasPane():
		return m.refuse(fmt.Sprintf("agent %d has no tmux pane", r.id))
	}
	m.said = ""
	cmd, complaint := m.cfg.Attach(r.id), &head{}
	cmd.Stderr = complaint
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err != nil {
			err = daemon.Errorf(daemon.KindInternal, "attach", "%s", complaint.sentence(err))
		}
		return doneMsg{err: err}
	})
}

// refuse says why a key does nothing.
func (m *model) refuse(why string) tea.Cmd {
	m.say(why, true)
	return nil
}
