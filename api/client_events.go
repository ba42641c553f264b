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
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	firstPause = 100 * time.Millisecond // before a feed that was cut off is opened again
	maxPause   = 5 * time.Second
	silence    = 45 * time.Second // three heartbeats: the daemon is gone, though the connection is not
	maxEvent   = 4 << 20          // bytes
)

// Follow calls fn with each event after an id, in order and once, until ctx ends or fn returns an
// error, which it returns. After a negative id come those from now on. No types means all.
//
// Where the log has not kept all of that, fn gets an event of type [daemon.FeedTruncated] first, whatever
// the types.
//
// It returns an error at once when there is no daemon. A feed that breaks off later it opens
// again, for as long as it takes: events of the time between are not lost.
func (c *Client) Follow(ctx context.Context, after int64, types []string, fn func(daemon.Event) error) error {
	f := &follower{client: c, last: after, types: types, fn: fn}
	return f.follow(ctx)
}

// FollowPipeline is [Client.Follow] for the events of one run alone.
func (c *Client) FollowPipeline(ctx context.Context, id, after int64, types []string, fn func(daemon.Event) error) error {
	f := &follower{client: c, pipeline: id, last: after, types: types, fn: fn}
	return f.follow(ctx)
}

// follower is one call of Follow.
type follower struct {
	client   *Client
	pipeline int64 // 0: events of all and of none
	last     int64 // the newest event that fn got; negative: not known yet
	types    []string
	fn       func(daemon.Event) error
	received int   // signs of life
	missing  int64 // fn was told that events before this one are missing
	stopped  error // why fn wants no more
}

// follow opens the feed, and opens it again, until there is a reason to end.
func (f *follower) follow(ctx context.Context) error {
	pause := firstPause
	for {
		before := f.received
		err := f.once(ctx)
		var told *daemon.Error
		switch {
		case f.stopped != nil:
			return f.stopped
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &told) && (told.Kind != daemon.KindUnavailable && told.Kind != daemon.KindInternal || f.received == 0):
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

// address is the feed's, as it is narrowed here.
func (f *follower) address() string {
	q := url.Values{}
	if len(f.types) > 0 {
		q.Set("types", strings.Join(f.types, ","))
	}
	if f.pipeline != 0 {
		q.Set("pipeline_id", strconv.FormatInt(f.pipeline, 10))
	}
	return f.client.base + "/api/events?" + q.Encode()
}

// once follows one connection to its end.
func (f *follower) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alarm := time.AfterFunc(silence, cancel)
	defer alarm.Stop()

	request, err := http.NewRequestWithContext(ctx, "GET", f.address(), nil)
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if f.last >= 0 {
		request.Header.Set("Last-Event-ID", strconv.FormatInt(f.last, 10))
	}
	f.client.authorize(request.Header)
	response, err := f.client.http.Do(request)
	if err != nil {
		return callError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
		if err != nil {
			return callError(err)
		}
		return answerError(response.StatusCode, body)
	}
	err = readStream(response.Body, func(id string, data []byte) error {
		alarm.Reset(silence)
		f.received++
		f.stopped = f.take(id, data)
		return f.stopped
	})
	if errors.Is(err, bufio.ErrTooLong) { // it would be as long the next time
		f.stopped = fmt.Errorf("feed: event after %d has over %d bytes: %w", f.last, maxEvent, err)
	}
	return err
}

// readStream calls fn with what stands between two blank lines of a stream of server-sent events,
// comments included. What is cut off before its blank line is dropped, as the standard has it:
// the library's own client passes on half an event.
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

// take handles an event, or, without data, a sign of life, which may tell where the feed stands.
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
	var e daemon.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("feed: event %d: %w", n, err)
	}
	if e.Type == daemon.FeedTruncated {
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

// truncated hands on that events are missing, once: each connection begins with it until an event has come.
func (f *follower) truncated(e daemon.Event) error {
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
