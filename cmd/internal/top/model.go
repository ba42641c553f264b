package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/sight"
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

// pages is what is shown of the rows: the list with the preview, and the pages of one row.
type pages struct {
	board
	screen  screen
	detail  details
	diff    reply[agents.AgentDiff]
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
	case replyMsg[agents.AgentDiff]:
		m.diff.took(msg)
	case replyMsg[sight.Dialog]:
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

// take shows a snapshot. The same row stays selected, even if its place has changed.
func (m *model) take(s snapshot) {
	m.data = s
	m.arrange()
	// Keys act on the selected row, so it stays the one that a page or a form is about.
	if at := m.find(key{agentRow, m.awaited}); m.awaited != 0 && at >= 0 && m.screen == listScreen && m.form == nil {
		m.choose(at)
	}
	k := cmp.Or(m.selected, m.gone)
	if k == nil {
		return
	}
	if at := m.find(*k); at >= 0 && k == m.selected {
		m.at = at
	} else if at := m.find(key{agentRow, m.data.goesOnFrom(*k)}); at >= 0 && m.screen == listScreen && m.form == nil {
		// Who goes on may come a while after the other has ended: it is started only then.
		m.say(fmt.Sprintf("%s has ended; %s goes on with its work", k, m.rows[at].key), false)
		m.choose(at)
		m.followedAt = m.now
	} else {
		m.gone, m.selected = k, nil
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
	return m.ask(actionTime, func(ctx context.Context, c *api.Client) tea.Msg {
		done := a.do(ctx, c)
		done.form, done.err = f, slow(ctx, done.err)
		return done
	})
}
