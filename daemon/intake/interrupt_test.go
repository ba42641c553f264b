package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/data"
)

// The operator is told once of a pause that lasts, and once of its end.
func TestInterruptionIsTold(t *testing.T) {
	t.Parallel()
	dir := value(data.Open(t.TempDir()))(t)
	synctest.Test(t, func(t *testing.T) {
		shown, stored := &board{began: time.Now()}, &brokenStore{}
		d := New(engine.Config{Host: "h", Store: stored, Log: slog.New(slog.DiscardHandler), Data: dir})
		engine.Join(d.Engine, engine.Part{Tell: shown.tell})
		if err := d.Recovered(t.Context()); err != nil || len(stored.events) != 0 || d.Interrupted() != nil {
			t.Fatalf("without an interruption: %v, %d events, %v", err, len(stored.events), d.Interrupted())
		}
		for range 10 {
			d.Interrupt(t.Context(), &daemon.Error{Kind: daemon.KindUnavailable, Code: "database_read_only", Message: "It is read-only"})
			<-time.After(time.Second)
		}
		equal(t, "told", strings.Join(shown.shown, "; "), "5s understudy stands still!")
		var why *daemon.Error
		if err := d.Ready(t.Context()); !errors.As(err, &why) || why.Code != "database_read_only" {
			t.Errorf("ready: %v", err)
		}
		must(t, d.Recovered(t.Context()))
		if len(stored.events) != 1 || !stored.events[0].Alert || !strings.Contains(string(stored.events[0].Payload), "The database was read-only for 10.00 s") {
			t.Errorf("events %+v", stored.events)
		}
		if err := d.Recovered(t.Context()); err != nil || len(stored.events) != 1 {
			t.Errorf("told twice: %v", err)
		}
	})
}

func TestEndOfAnInterruptionIsStoredAfterAFailure(t *testing.T) {
	t.Parallel()
	dir := value(data.Open(t.TempDir()))(t)
	stored := &spoolStore{fails: errors.New("away again")}
	d := New(engine.Config{Host: "h", Store: stored, Log: slog.New(slog.DiscardHandler), Data: dir})
	d.Interrupt(t.Context(), nil)
	if err := d.Recovered(t.Context()); err == nil {
		t.Fatal("a failure of the database went unsaid")
	}
	stored.fails = nil
	if err := d.Recovered(t.Context()); err != nil || len(stored.told) != 1 {
		t.Errorf("%v, told %q", err, stored.told)
	}
}

// board notes the notifications it is given, and when.
type board struct {
	began time.Time
	shown []string
}

func (b *board) tell(_ context.Context, n tell.Notification) {
	line := fmt.Sprintf("%s %s", time.Since(b.began), strings.TrimPrefix(n.Title, "understudy: "))
	if n.Urgent {
		line += "!"
	}
	b.shown = append(b.shown, line)
}

// TestToldOnceIsBounded: a sender that makes up events does not fill the memory, and the operator is told often enough.
func TestToldOnceIsBounded(t *testing.T) {
	t.Parallel()
	s := &spoolStore{}
	d := New(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)})
	for i := range 10 * engine.MaxFirsts {
		_ = d.refuse(fmt.Sprint("Event", i), errors.New("no"))
		d.disbelieved(fmt.Sprint("Event", i), "no")
	}
	if len(d.Refused) != engine.MaxFirsts || len(s.told) != engine.MaxFirsts {
		t.Errorf("%d are remembered, and %d were told", len(d.Refused), len(s.told))
	}
}

// brokenStore is a store that can't read an agent's row.
type brokenStore struct {
	daemon.Store
	err    error
	events []*event.Event
}

func (s *brokenStore) Agent(context.Context, int64) (daemon.Agent, error) {
	return daemon.Agent{}, s.err
}

func (s *brokenStore) Commit(_ context.Context, c *daemon.Change) error {
	s.events = append(s.events, c.Events...)
	return nil
}
