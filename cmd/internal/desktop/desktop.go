// Package desktop shows notifications to the operator, one at a time, each by a process of its own: a notification service
// that hangs holds up no more than that. Where there is no desktop the log tells it.
package desktop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

const (
	// notifyLimit is how long a notification may take. A notification service that hangs never answers
	// (measured); one on a busy machine has taken more than two seconds.
	notifyLimit = 5 * time.Second
	// notifyRest is how long the desktop is left alone that has not answered: a storm of alerts must not
	// take that limit each.
	notifyRest = 10 * time.Second

	maxNotifyTitle   = 80  // runes
	maxNotifyMessage = 300 // runes
)

// Desktop shows notifications on the operator's desktop, one at a time. It is safe for concurrent use.
type Desktop struct {
	enabled bool
	getenv  func(string) string
	binary  string
	limit   time.Duration // notifyLimit; shorter in tests
	rest    time.Duration // notifyRest; shorter in tests
	turn    chan struct{} // holds one token while a call is under way
	silent  atomic.Int64  // when the desktop failed to answer last, in Unix nanoseconds; 0: it has answered since
	show    func(context.Context, tell.Notification) error
}

// New makes the desktop that the variables lead to. binary is this program.
func New(enabled bool, getenv func(string) string, binary string) *Desktop {
	n := &Desktop{enabled: enabled, getenv: getenv, binary: binary, limit: notifyLimit, rest: notifyRest, turn: make(chan struct{}, 1)}
	n.show = n.showOnDesktop
	return n
}

var errDesktopHangs = errors.New("the desktop's notification service hangs: restart it, or end it")

// Notify implements daemon.Notifier. Without a desktop, or when it does not answer, the channel is
// "log": the daemon has written the message there.
func (n *Desktop) Notify(ctx context.Context, m tell.Notification) (channel string, err error) {
	if !n.enabled {
		return "log", nil
	}
	if why := n.Absent(); why != "" {
		return "log", errors.New(why)
	}
	if at := n.silent.Load(); at != 0 && time.Since(time.Unix(0, at)) < n.rest {
		return "log", errDesktopHangs
	}
	noAnswer := fmt.Errorf("desktop notification: no answer within %s", n.limit)
	ctx, cancel := context.WithTimeoutCause(ctx, n.limit, noAnswer)
	defer cancel()
	if err = n.inTurn(ctx, tell.Notification{
		Title: words.Notification(m.Title, maxNotifyTitle), Message: words.Notification(m.Message, maxNotifyMessage), Urgent: m.Urgent,
	}); ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	switch {
	case err == nil:
		n.silent.Store(0)
		return "desktop", nil
	case errors.Is(err, noAnswer):
		n.silent.Store(time.Now().UnixNano())
		return "log", err
	}
	return "log", fmt.Errorf("desktop notification: %w", err)
}

// inTurn shows a message when no other is being shown, or returns when ctx ends.
func (n *Desktop) inTurn(ctx context.Context, m tell.Notification) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.turn }()
	return n.show(ctx, m)
}
