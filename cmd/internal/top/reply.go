package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
)

// reply is what the daemon has said about an agent, for a page that is read when it is opened.
type reply[T any] struct {
	agent int64
	asked int // counts the reads, so that a late answer to an earlier one is dropped
	said  *T  // nil: nothing yet
	err   error
}

type replyMsg[T any] struct {
	asked int
	said  T
	err   error
}

// openPage opens a page about an agent and reads it once.
func openPage[T any](m *pages, s screen, r *reply[T], agent int64, atMost time.Duration, read func(context.Context, *api.Client) (T, error)) tea.Cmd {
	m.screen, m.scroll = s, 0
	*r = reply[T]{agent: agent, asked: r.asked + 1}
	asked := r.asked
	return m.ask(atMost, func(ctx context.Context, c *api.Client) tea.Msg {
		said, err := read(ctx, c)
		return replyMsg[T]{asked, said, slow(ctx, err)}
	})
}

func (r *reply[T]) took(msg replyMsg[T]) {
	if msg.asked == r.asked {
		r.said, r.err = &msg.said, msg.err
	}
}

// leavePage goes back to where a page was opened from.
func (m *pages) leavePage() {
	m.screen, m.scroll = listScreen, 0
	if m.detail.key.id != 0 {
		m.screen = detailScreen
	}
}
