package show

import (
	"context"
	"errors"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// glance is how long await goes without looking when no event tells it to: between its first look
// and the feed's start an event may have gone by.
const glance = 250 * time.Millisecond

// Await looks again with each event until look says that it is done or fails. A daemon that goes
// away meanwhile is waited for: work goes on when the next one starts. idle, if not nil, is called
// ten times a second.
func Await(ctx context.Context, c *api.Client, idle func(away bool), look func(context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	wake := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		feed(ctx, c, wake)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	redraw := time.NewTicker(100 * time.Millisecond)
	defer redraw.Stop()
	again := time.NewTicker(glance)
	defer again.Stop()
	seen, away := false, false
	for {
		done, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && done:
			return nil
		case err == nil:
			seen, away = true, false
		case !seen || !unavailable(err):
			return err
		default:
			away = true
		}
		if err := pause(ctx, wake, again.C, redraw.C, func() {
			if idle != nil {
				idle(away)
			}
		}); err != nil {
			return err
		}
	}
}

// pause returns when there may be something new to see.
func pause(ctx context.Context, wake <-chan struct{}, again, redraw <-chan time.Time, idle func()) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
			return nil
		case <-again:
			return nil
		case <-redraw:
			idle()
		}
	}
}

// feed wakes at each event until ctx ends.
func feed(ctx context.Context, c *api.Client, wake chan<- struct{}) {
	for ctx.Err() == nil {
		_ = c.Follow(ctx, -1, nil, func(event.Event) error {
			select {
			case wake <- struct{}{}:
			default: // it has not looked yet at what the last one told
			}
			return nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// unavailable reports whether an error says that nobody answers.
func unavailable(err error) bool {
	var told *daemon.Error
	return errors.As(err, &told) && told.Kind == daemon.KindUnavailable
}
