// Package desktop shows notifications on the operator's desktop, one at a time, each by a process of its own, so that a
// notification service that hangs holds up that process alone. Without a desktop the daemon's log has the notifications. A
// [Desktop] is safe for concurrent use; a crash leaves nothing, since a notification is shown or not.
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
	// notifyLimit is how long a notification may take. Measured: a notification service that hangs never answers, and one
	// on a busy machine took more than two seconds.
	notifyLimit = 5 * time.Second
	// notifyRest is how long Notify leaves a desktop alone that has not answered. Otherwise each of many alerts would wait
	// for notifyLimit.
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
	silent  atomic.Int64  // when the desktop last failed to answer, in Unix nanoseconds; 0: it has answered since
	show    func(context.Context, tell.Notification) error
}

// New makes the desktop that the environment leads to. binary is this program.
func New(enabled bool, getenv func(string) string, binary string) *Desktop {
	n := &Desktop{enabled: enabled, getenv: getenv, binary: binary, limit: notifyLimit, rest: notifyRest, turn: make(chan struct{}, 1)}
	n.show = n.showOnDesktop
	return n
}

var errDesktopHangs = errors.New("the desktop's notification service hangs: restart it, or end it")

// Notify implements daemon.Notifier. If there is no desktop, or it does not answer, the channel is "log": the daemon has
// written the message there.
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

// inTurn waits until no other notification is being shown, and shows one. The end of ctx ends the wait.
func (n *Desktop) inTurn(ctx context.Context, m tell.Notification) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.turn }()
	return n.show(ctx, m)
}
