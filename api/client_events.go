package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

const (
	firstPause = 100 * time.Millisecond // first pause before the client opens a broken feed again
	maxPause   = 5 * time.Second
	silence    = 45 * time.Second // after three missing heartbeats the client drops a connection that is still open
	maxEvent   = 4 << 20          // bytes
)

// Follow calls fn with each event whose id is larger than after, in order and one time each. If after is negative, it
// begins with the next new event. If types is empty, fn gets events of all types. Follow ends when ctx ends or when fn
// returns an error; it then returns that error.
//
// If some of these events were deleted from the event log, fn first gets an event of type [event.FeedTruncated], even
// if types does not contain that type.
//
// If no daemon answers at first, Follow returns an error at once. If the feed breaks later, Follow tries to open it again
// until it succeeds, and no event is lost.
func (c *Client) Follow(ctx context.Context, after int64, types []string, fn func(event.Event) error) error {
	f := &follower{client: c, last: after, types: types, fn: fn}
	return f.follow(ctx)
}

// follower is one call of Follow.
type follower struct {
	client   *Client
	last     int64 // id of the newest event that fn got; negative if no such id is known yet
	types    []string
	fn       func(event.Event) error
	received int   // how many events and heartbeats have arrived
	missing  int64 // fn got the report that events before this id are missing
	stopped  error // the error that fn returned
}

// follow opens the feed, and opens it again after each break, until ctx ends or there is an error that ends Follow.
func (f *follower) follow(ctx context.Context) error {
	pause := firstPause
	for {
		before := f.received
		err := f.once(ctx)
		var told *daemon.Error
		var none nobody
		switch {
		case f.stopped != nil:
			return f.stopped
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &none), errors.As(err, &told) && (told.Kind != daemon.KindUnavailable && told.Kind != daemon.KindInternal || f.received == 0):
			return err
		}
		if f.received > before {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}

// once opens one connection and reads it to its end.
func (f *follower) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alarm := time.AfterFunc(silence, cancel)
	defer alarm.Stop()

	header := http.Header{"Accept": {"text/event-stream"}}
	if f.last >= 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
	}
	response, err := f.client.open(ctx, "GET", "/api/events"+query(map[string]any{"types": strings.Join(f.types, ",")}), header, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	err = readStream(response.Body, func(id string, data []byte) error {
		alarm.Reset(silence)
		f.received++
		f.stopped = f.take(id, data)
		return f.stopped
	})
	if errors.Is(err, bufio.ErrTooLong) { // do not try again: a new connection would send the same event
		f.stopped = fmt.Errorf("feed: event after %d has over %d bytes: %w", f.last, maxEvent, err)
	}
	return err
}

// readStream calls fn with each block of a stream of server-sent events. A block is the lines up to a blank line; it may
// consist of comments only. If the stream ends before a block's blank line, readStream drops the block, as the standard
// demands. The library's own client would pass on half an event.
func readStream(r io.Reader, fn func(id string, data []byte) error) error {
	var id string
	var data []byte
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(lines.Bytes()) == 0:
			if err := fn(id, data); err != nil {
				return err
			}
			id, data = "", nil
		case string(name) == "id":
			id = string(value)
		case string(name) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	return lines.Err()
}

// take handles one block of the feed. A block without data is a heartbeat, or contains only the feed's position (its id).
func (f *follower) take(id string, data []byte) error {
	if id == "" && len(data) == 0 {
		return nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("feed: event with id %.40q", id)
	}
	if len(data) == 0 {
		f.last = n
		return nil
	}
	if n < f.last {
		return nil
	}
	var e event.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("feed: event %d: %w", n, err)
	}
	if e.Type == event.FeedTruncated {
		return f.truncated(e)
	}
	if n == f.last {
		return nil
	}
	if err := f.fn(e); err != nil {
		return err
	}
	f.last = n
	return nil
}

// truncated passes the report that events are missing to fn, but only one time. The daemon repeats the report at the
// start of each connection until the client has got an event.
func (f *follower) truncated(e event.Event) error {
	var gap struct{ Oldest int64 }
	if err := json.Unmarshal(e.Payload, &gap); err != nil {
		return fmt.Errorf("feed: truncated: %w", err)
	}
	if gap.Oldest <= f.missing {
		return nil
	}
	f.missing = gap.Oldest
	return f.fn(e)
}
