// Package show prints the state of handoffs, pipelines, agents and their lines in a terminal, and follows a handoff or a
// pipeline until its end. It reads only over the daemon's API. One goroutine prints. [Await] has a second goroutine that
// follows the feed; that goroutine ends before Await returns. A command that is killed leaves nothing behind, and the
// handoff or pipeline goes on.
package show

import (
	"context"
	"errors"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// glance is the time after which Await looks again without an event. An event may have come between its first look and
// the start of the feed.
const glance = 250 * time.Millisecond

// Await calls the function look at once, after each event, and every glance, until look reports that it is done. An error of
// look ends Await, unless the daemon is away: Await waits for the next daemon, which goes on with the work. So whoever calls
// Await has got an answer of the daemon before. Await calls idle, if it is not nil, ten times a second.
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
	away := false
	for {
		done, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && done:
			return nil
		case err == nil:
			away = false
		case !unavailable(err):
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

// pause returns when Await must look again. Until then it calls idle at each tick of redraw.
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

// feed sends to wake at each event, until ctx ends.
func feed(ctx context.Context, c *api.Client, wake chan<- struct{}) {
	for ctx.Err() == nil {
		_ = c.Follow(ctx, -1, nil, func(event.Event) error {
			select {
			case wake <- struct{}{}:
			default: // Await has not yet looked since the last event
			}
			return nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// unavailable reports whether err means that no daemon answers.
func unavailable(err error) bool {
	var told *daemon.Error
	return errors.As(err, &told) && told.Kind == daemon.KindUnavailable
}
