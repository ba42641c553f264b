package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/tell"
)

// receiver is a target that notes what it takes. It answers the next messages with the errors in fails.
type receiver struct {
	mu    sync.Mutex
	took  []tell.Message
	fails []error
	down  bool // it answers every message with an error
	tap   func(what string)
}

func (r *receiver) Send(_ context.Context, m *tell.Message) error {
	if r.tap != nil {
		r.tap("before the message")
		defer r.tap("after the message")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.down:
		return errors.New("it is down")
	case len(r.fails) > 0:
		err := r.fails[0]
		r.fails = r.fails[1:]
		return err
	}
	r.took = append(r.took, *m)
	return nil
}

// tapped is a store that calls tap before and after each write.
type tapped struct {
	*memory.Store
	tap func(what string)
}

func (s tapped) MovePush(ctx context.Context, p *tell.Push, from tell.PushState, attempts int, e *event.Event) (bool, error) {
	s.tap(fmt.Sprint("before ", from, " to ", p.State))
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	moved, err := s.Store.MovePush(ctx, p, from, attempts, e)
	s.tap(fmt.Sprint("after ", from, " to ", p.State))
	return moved, err
}

// queue commits an alert and its pushes to the routes, as the teller does.
func queue(t *testing.T, st *memory.Store, routes ...string) {
	t.Helper()
	alert := &event.Event{Type: event.HandoffUnread, Host: "h", Alert: true, At: time.Now()}
	must(t, st.Commit(t.Context(), &daemon.Change{Events: []*event.Event{alert}}))
	var pushes []tell.Push
	for _, name := range routes {
		pushes = append(pushes, tell.Push{Host: "h", Target: name, Key: fmt.Sprintf("k%d-%s", alert.ID, name), NextAt: time.Now(),
			Message: tell.Message{Title: "title", Text: "it failed", Level: tell.LevelError, Type: alert.Type, At: alert.At, EventID: alert.ID}})
	}
	must(t, st.MarkAlerted(t.Context(), []int64{alert.ID}, nil, pushes...))
}

// runPusher runs a pusher for a time of the bubble, or until kill is called.
func runPusher(t *testing.T, st tell.PushStore, routes []tell.Route, lasts time.Duration) (kill func(), run func()) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	p := tell.NewPusher(tell.PusherConfig{
		Host: "h", Store: st, Routes: routes, Log: slog.New(slog.DiscardHandler), Clock: time.Now, Moved: func() {},
	})
	return cancel, func() { defer cancel(); p.Run(ctx) }
}

// TestPushSurvivesAKillAtEachMoment: a daemon that is killed before or after each write and each message loses no
// notification. One that may have arrived twice has the same key, and says so.
func TestPushSurvivesAKillAtEachMoment(t *testing.T) {
	t.Parallel()
	moments, twice := 0, 0
	for at := 0; ; at++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			st := memory.New()
			r := &receiver{fails: []error{errors.New("a moment, please")}}
			queue(t, st, "phone")
			n, where := 0, ""
			var kill func()
			dead := make(chan struct{})
			tap := func(what string) {
				if n++; n-1 == at {
					reached, where = true, what
					close(dead)
					kill()
					runtime.Goexit() // a process that was killed does nothing any more
				}
			}
			r.tap = tap
			first := tapped{st, tap}
			var run func()
			kill, run = runPusher(t, first, []tell.Route{{Name: "phone", Target: r}}, 10*time.Minute)
			go run()
			select {
			case <-dead:
			case <-time.After(10 * time.Minute):
			}
			r.tap = nil
			_, run = runPusher(t, st, []tell.Route{{Name: "phone", Target: r}}, 10*time.Minute)
			run()
			r.mu.Lock()
			defer r.mu.Unlock()
			reports, err := st.PushReports(t.Context(), "h")
			if err != nil || len(reports) != 1 || reports[0].Open != 0 || reports[0].SentAt == nil {
				t.Fatalf("killed %s: %+v, %v", where, reports, err)
			}
			switch len(r.took) {
			case 1:
			case 2:
				twice++
				if r.took[0].Key != r.took[1].Key || !r.took[1].MaybeTwice || reports[0].Twice != 1 {
					t.Errorf("killed %s: a repetition that does not say so: %+v", where, r.took)
				}
			default:
				t.Errorf("killed %s: arrived %d times", where, len(r.took))
			}
		})
		if !reached {
			break
		}
		moments++
	}
	// Two attempts, each with two messages' and four writes' moments. After the receiver has taken the message, two moments
	// come before the mark.
	if moments != 12 || twice != 2 {
		t.Errorf("killed at %d moments, arrived twice after %d of them", moments, twice)
	}
}

// TestPushIsTriedAgainAcrossRestarts: the time of the next attempt is on the row, so a restart neither hurries nor forgets
// it.
func TestPushIsTriedAgainAcrossRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, r := memory.New(), &receiver{down: true}
		queue(t, st, "phone")
		began, attempts := time.Now(), []string{}
		r.tap = func(what string) {
			if what == "before the message" {
				attempts = append(attempts, time.Since(began).String())
			}
		}
		for range 20 { // a daemon lives for 7 seconds
			_, run := runPusher(t, st, []tell.Route{{Name: "phone", Target: r}}, 7*time.Second)
			run()
		}
		equal(t, "attempts at", fmt.Sprint(attempts), "[0s 5s 20s 1m5s]")
		r.mu.Lock()
		r.down = false
		r.mu.Unlock()
		_, run := runPusher(t, st, []tell.Route{{Name: "phone", Target: r}}, 5*time.Minute)
		run()
		if len(r.took) != 1 || r.took[0].MaybeTwice {
			t.Errorf("arrived %+v", r.took)
		}
	})
}

// TestPushIsGivenUp: a target that stays down is one alert, whatever is given up after it. The alert is not about itself.
func TestPushIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, r := memory.New(), &receiver{down: true}
		queue(t, st, "phone", "gone")
		queue(t, st, "phone")
		_, run := runPusher(t, st, []tell.Route{{Name: "phone", Target: r}}, 3*time.Hour)
		run()
		alerts := map[string]int{}
		events, err := st.Events(t.Context(), event.Filter{Types: []string{string(event.NotificationFailed)}})
		for _, e := range events {
			if e.Alert {
				alerts[e.Cause]++
			}
		}
		if err != nil || len(events) != 3 || len(alerts) != 2 || alerts["target phone"] != 1 || alerts["target gone"] != 1 {
			t.Errorf("events %+v, alerts %v, %v", events, alerts, err)
		}
		r.mu.Lock()
		r.down, r.fails = false, []error{&tell.Unsent{Err: errors.New("403"), Final: true}}
		r.mu.Unlock()
		queue(t, st, "phone") // refused at once
		queue(t, st, "phone") // arrives
		_, run = runPusher(t, st, []tell.Route{{Name: "phone", Target: r}}, time.Second)
		run()
		if len(r.took) != 1 {
			t.Errorf("after it was mended: %+v", r.took)
		}
	})
}
