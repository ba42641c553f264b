package history

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// historyStore is a database that prunes what is in left, and then fails with fail.
type historyStore struct {
	daemon.Store
	told   []string // the events of commits
	left   []daemon.PrunedHistory
	before time.Time
	fail   error
}

func (s *historyStore) PruneHistory(_ context.Context, before time.Time, _ int) (some daemon.PrunedHistory, err error) {
	s.before = before
	if len(s.left) == 0 {
		return some, s.fail
	}
	some, s.left = s.left[0], s.left[1:]
	return some, nil
}

func (s *historyStore) Commit(_ context.Context, c *daemon.Change) error {
	for _, e := range c.Events {
		s.told = append(s.told, string(e.Type)+" "+string(e.Payload))
	}
	return nil
}

// The event log says what was deleted, also if the rest could not be.
func TestHistoryIsPrunedByItsSetting(t *testing.T) {
	t.Parallel()
	for _, fail := range []error{nil, errors.New("the database is away")} {
		synctest.Test(t, func(t *testing.T) {
			s := &historyStore{left: []daemon.PrunedHistory{{Pipelines: 1}, {Agents: 200, Handoffs: 3}, {Agents: 5}}, fail: fail}
			d := Join(intake.New(engine.Config{Host: "h", Store: s, Log: slog.New(slog.DiscardHandler)}))
			prune := func(ctx context.Context) error {
				_, history := d.pruneLimits()
				_, err := d.pruneHistory(ctx, history)
				return err
			}
			if err := prune(t.Context()); err != nil || len(s.left) != 3 {
				t.Errorf("without a setting: %v, %d batches are left", err, len(s.left))
			}
			d.Settings().History.MaxAge = 48 * time.Hour
			began := time.Now()
			if err := prune(t.Context()); !errors.Is(err, fail) || len(s.left) != 0 {
				t.Errorf("%v, %d batches are left", err, len(s.left))
			}
			if age := began.Sub(s.before); age > 48*time.Hour || age < 47*time.Hour {
				t.Errorf("pruned what ended %s ago", age)
			}
			if len(s.told) != 1 || !strings.Contains(s.told[0], `history_pruned {"agents":205,"handoffs":3,"pipelines":1`) {
				t.Errorf("told %q", s.told)
			}
		})
	}
}
