package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
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

// tell shows the result of an action.
func (m *frame) tell(said string, err error) {
	if err != nil {
		said = m.cfg.Explain(err)
	}
	m.say(said, err != nil)
}

func (m *frame) say(said string, wrong bool) { m.said, m.wrong, m.saidAt = said, wrong, m.now }

// ask asks the daemon in a goroutine of its own, for so long at most.
func (m *frame) ask(atMost time.Duration, do func(context.Context, *api.Client) tea.Msg) tea.Cmd {
	ctx, c := m.ctx, m.cfg.Client
	return func() tea.Msg {
		ctx, cancel := context.WithTimeoutCause(ctx, atMost, errSlow)
		defer cancel()
		return do(ctx, c)
	}
}

// refuse shows why a key does nothing.
func (m *frame) refuse(why string) tea.Cmd {
	m.say(why, true)
	return nil
}
