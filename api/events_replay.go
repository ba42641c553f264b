package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// replaysAtOnce is how many readers of the feed may ask the database at the same time. After a restart
// all come back at once, and flows and hooks need connections, too.
const replaysAtOnce = 4

// replaying asks the database for a reader, when it is that reader's turn.
func (s *Server) replaying(ctx context.Context, ask func() error) error {
	select {
	case s.replays <- struct{}{}:
		defer func() { <-s.replays }()
		return ask()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replay sends what the log has after the reader's id.
func (f *feed) replay(ctx context.Context) error {
	f.filter.Limit = eventsPage
	for {
		events, err := f.page(ctx)
		if err != nil {
			return err
		}
		n := len(events)
		if n > 0 && events[0].Type == daemon.FeedTruncated {
			n--
		}
		f.send(ctx, events)
		if n < eventsPage || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// page reads what comes next in the log. Where something may be missing before it, an event that says so
// comes first: its id is the reader's own, so that it does not move the reader's position.
func (f *feed) page(ctx context.Context) (page []*daemon.Published, err error) {
	var events []daemon.Event
	var floor daemon.LogFloor
	err = f.server.replaying(ctx, func() (err error) {
		if events, err = f.server.Daemon.Events(ctx, f.filter); err != nil {
			return err
		}
		floor, err = f.server.Daemon.LogFloor(ctx) // after the events: what they lack is known by now
		return err
	})
	if err != nil {
		return nil, err
	}
	if floor.PrunedTo > max(f.floor, f.filter.After) {
		f.floor = floor.PrunedTo
		events = append([]daemon.Event{f.truncated(floor)}, events...)
	}
	for _, e := range events {
		b, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.ID, err)
		}
		page = append(page, &daemon.Published{Event: e, JSON: b})
	}
	return page, nil
}

func (f *feed) truncated(floor daemon.LogFloor) daemon.Event {
	return daemon.Event{
		ID: f.filter.After, Type: daemon.FeedTruncated, At: time.Now().UTC(), Host: f.server.Daemon.Host,
		Payload: json.RawMessage(fmt.Sprintf(`{"after":%d,"oldest":%d}`, f.filter.After, floor.Oldest)),
	}
}
