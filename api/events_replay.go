package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
)

// replaysAtOnce is how many readers of the feed may query the database at the same time. After a restart all readers come
// back at once, and handoffs and hooks need connections too.
const replaysAtOnce = 4

// replaying calls ask, which queries the database for a reader, when it is that reader's turn.
func (s *Server) replaying(ctx context.Context, ask func() error) error {
	select {
	case s.replays <- struct{}{}:
		defer func() { <-s.replays }()
		return ask()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replay sends the events that the log has after the reader's id.
func (f *feedReader) replay(ctx context.Context) error {
	f.filter.Limit = eventsPage
	for {
		events, err := f.page(ctx)
		if err != nil {
			return err
		}
		n := len(events)
		if n > 0 && events[0].Type == event.FeedTruncated {
			n--
		}
		f.send(ctx, events)
		if n < eventsPage || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// page reads the next events in the log. If events before them may be missing, it puts an event before them that says so.
// The id of that event is the reader's own id, so that the reader's position does not change.
func (f *feedReader) page(ctx context.Context) (page []*feed.Published, err error) {
	var events []event.Event
	var floor daemon.LogFloor
	err = f.server.replaying(ctx, func() (err error) {
		if events, err = f.server.Daemon.Events(ctx, f.filter); err != nil {
			return err
		}
		floor, err = f.server.Daemon.LogFloor(ctx) // after the events, so that the floor covers every event they lack
		return err
	})
	if err != nil {
		return nil, err
	}
	if floor.PrunedTo > max(f.floor, f.filter.After) {
		f.floor = floor.PrunedTo
		events = append([]event.Event{f.truncated(floor)}, events...)
	}
	for _, e := range events {
		b, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.ID, err)
		}
		page = append(page, &feed.Published{Event: e, JSON: b})
	}
	return page, nil
}

func (f *feedReader) truncated(floor daemon.LogFloor) event.Event {
	return event.Event{
		ID: f.filter.After, Type: event.FeedTruncated, At: time.Now().UTC(), Host: f.server.Daemon.Host,
		Payload: json.RawMessage(fmt.Sprintf(`{"after":%d,"oldest":%d}`, f.filter.After, floor.Oldest)),
	}
}
