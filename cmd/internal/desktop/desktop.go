// Package desktop shows notifications on the operator's desktop, one after the other. A new process shows each of them,
// so a notification service that hangs blocks only that process. Without a desktop the notifications are in the daemon's
// log only. A [Desktop] is safe for concurrent use. A crash leaves nothing to clean up.
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
	// notifyLimit is the time limit for showing one notification. Measured: a notification service that hangs never
	// answers, and a notification service on a busy machine took more than two seconds.
	notifyLimit = 5 * time.Second
	// After a desktop has not answered, Notify does not try it again for notifyRest. Otherwise each of many alerts would
	// wait for notifyLimit.
	notifyRest = 10 * time.Second

	maxNotifyTitle   = 80  // runes
	maxNotifyMessage = 300 // runes
)

// Desktop shows notifications on the operator's desktop, one after the other. It is safe for concurrent use.
type Desktop struct {
	enabled atomic.Bool
	getenv  func(string) string
	binary  string
	limit   time.Duration // notifyLimit; shorter in tests
	rest    time.Duration // notifyRest; shorter in tests
	turn    chan struct{} // holds one token while a notification is being shown
	silent  atomic.Int64  // when the desktop last failed to answer, in Unix nanoseconds; 0 if it has answered since
	show    func(context.Context, tell.Notification) error
}

// New returns the desktop that the environment names. binary is the path of this program.
func New(enabled bool, getenv func(string) string, binary string) *Desktop {
	n := &Desktop{getenv: getenv, binary: binary, limit: notifyLimit, rest: notifyRest, turn: make(chan struct{}, 1)}
	n.show = n.showOnDesktop
	n.Enable(enabled)
	return n
}

// Enable says whether notifications may be shown from now on.
func (n *Desktop) Enable(on bool) { n.enabled.Store(on) }

var errDesktopHangs = errors.New("the desktop's notification service hangs: restart it, or end it")

// Notify implements daemon.Notifier. If there is no desktop, or if the desktop does not answer, Notify returns the
// channel "log", because the daemon has also written the message to its log.
func (n *Desktop) Notify(ctx context.Context, m tell.Notification) (channel string, err error) {
	if !n.enabled.Load() {
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

// inTurn waits until no other notification is being shown, and then shows m. If ctx ends first, it shows nothing.
func (n *Desktop) inTurn(ctx context.Context, m tell.Notification) error {
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.turn }()
	return n.show(ctx, m)
}
