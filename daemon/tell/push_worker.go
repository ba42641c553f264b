package tell

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pushWorker sends the pushes of one target, one after the other. It belongs to one goroutine.
type pushWorker struct {
	*Pusher
	route *Route
	// sent is the push that was sent and is not marked yet. The worker sends nothing else before the store has it;
	// otherwise it would send the push twice.
	sent *sentPush
}

// sentPush is the outcome of an attempt.
type sentPush struct {
	push Push
	err  error // nil: the receiver has taken it
}

func (w *pushWorker) run(ctx context.Context, wake <-chan struct{}) {
	for ctx.Err() == nil {
		again, err := w.step(ctx)
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("notifications not sent; trying again", "target", w.route.Name, "error", err)
			again = pushRetry
		}
		if again > 0 {
			pause(ctx, wake, again)
		}
	}
}

// step sends the first push that is due. again is how long to wait before the next step.
func (w *pushWorker) step(ctx context.Context) (again time.Duration, err error) {
	if err := w.mark(ctx); err != nil {
		return 0, err
	}
	open, err := w.Store.OpenPushes(ctx, w.Host, w.route.Name)
	if err != nil {
		return 0, err
	}
	now := w.Clock()
	again = pushSweep
	for i := range open {
		push := open[i]
		// A time further ahead than any wait was written before somebody set the clock back.
		if left := push.NextAt.Sub(now); push.State == PushPending && left > 0 && left <= longestWait {
			again = min(again, left)
			continue
		}
		return 0, w.try(ctx, push)
	}
	return again, nil
}

// try claims a push and makes one attempt.
func (w *pushWorker) try(ctx context.Context, push Push) error {
	from, attempts := push.State, push.Attempts
	if from == PushSending { // a daemon ended between claiming the push and marking it
		push.MaybeTwice = true
		w.Log.Warn("notification is sent again: an earlier daemon may have sent it", "target", push.Target, "key", push.Key)
	}
	push.State, push.Attempts = PushSending, attempts+1
	moved, err := w.Store.MovePush(ctx, &push, from, attempts, nil)
	if err != nil || !moved {
		return err
	}
	m := push.Message
	m.Key, m.MaybeTwice = push.Key, push.MaybeTwice
	err = w.send(ctx, w.route, m)
	if err != nil && ctx.Err() != nil {
		return err // the daemon stops: nobody knows whether the message arrived, and the row says so
	}
	w.sent = &sentPush{push, err}
	return w.mark(ctx)
}

// mark commits the outcome of the last attempt, even if ctx has ended because the daemon stops.
func (w *pushWorker) mark(ctx context.Context) error {
	if w.sent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), markWithin, fmt.Errorf("not marked within %s", markWithin))
	defer cancel()
	push, failed := w.sent.push, w.sent.err // a copy: the next call begins anew if this one fails
	attempts := push.Attempts
	var err error
	switch {
	case failed == nil:
		push.State, push.Error = PushSent, ""
		_, err = w.Store.MovePush(ctx, &push, PushSending, attempts, nil)
	case attempts > len(backOff) || isFinal(failed):
		err = w.giveUp(ctx, &push, PushSending, attempts, failed.Error())
	default:
		push.State, push.Error = PushPending, failed.Error()
		push.NextAt = w.Clock().Add(waitAfter(attempts, failed))
		w.Log.Warn("notification not sent; trying again", "target", push.Target, "attempt", attempts, "next_at", push.NextAt, "error", failed)
		_, err = w.Store.MovePush(ctx, &push, PushSending, attempts, nil)
	}
	if err != nil {
		return fmt.Errorf("push %d not marked: %w", push.ID, err)
	}
	w.sent = nil
	return nil
}

// isFinal reports whether the same message would be refused again.
func isFinal(err error) bool {
	unsent, ok := errors.AsType[*Unsent](err)
	return ok && unsent.Final
}

// waitAfter returns how long to wait after the attempt with this number has failed. A receiver may ask for longer.
func waitAfter(attempt int, err error) time.Duration {
	wait := backOff[attempt-1]
	if unsent, ok := errors.AsType[*Unsent](err); ok {
		wait = max(wait, min(unsent.After, longestWait))
	}
	return wait
}
