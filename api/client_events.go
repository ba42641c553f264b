package api

import (
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

	"github.com/r3labs/sse/v2"

	"github.com/understudyd/understudy/daemon"
)

const (
	firstPause = 100 * time.Millisecond // before a feed that was cut off is opened again
	maxPause   = 5 * time.Second
	silence    = 45 * time.Second // three heartbeats: the daemon is gone, though the connection is not
	maxEvent   = 4 << 20          // bytes
)

var errSilence = errors.New("no sign of life from the daemon")

// Follow calls fn with each event after an id, in order and once, until ctx ends or fn returns an
// error, which it returns. After a negative id come those from now on. No types means all.
//
// It returns an error at once when there is no daemon. A feed that breaks off later it opens
// again, for as long as it takes: events of the time between are not lost.
func (c *Client) Follow(ctx context.Context, after int64, types []string, fn func(daemon.Event) error) error {
	f := &follower{client: c, last: after, types: types, fn: fn}
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

// follower is one call of Follow.
type follower struct {
	client   *Client
	last     int64 // the newest event that fn got; negative: not known yet
	types    []string
	fn       func(daemon.Event) error
	received int   // signs of life
	stopped  error // why fn wants no more
}

// never is the library's policy for connecting again: it would go on after the context's end.
type never struct{}

func (never) NextBackOff() time.Duration { return -1 }
func (never) Reset()                     {}

// once follows one connection to its end.
func (f *follower) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(errSilence) })
	defer alarm.Stop()

	address := f.client.base + "/api/events"
	if len(f.types) > 0 {
		address += "?types=" + url.QueryEscape(strings.Join(f.types, ","))
	}
	stream := sse.NewClient(address, sse.ClientMaxBufferSize(maxEvent))
	stream.Connection = f.client.http
	stream.ReconnectStrategy = never{}
	stream.ResponseValidator = refusal
	header := http.Header{}
	f.client.authorize(header)
	for name := range header {
		stream.Headers[name] = header.Get(name)
	}
	if f.last >= 0 {
		stream.LastEventID.Store(strconv.AppendInt(nil, f.last, 10))
	}
	err := stream.SubscribeRawWithContext(ctx, func(m *sse.Event) {
		alarm.Reset(silence)
		if f.stopped != nil || ctx.Err() != nil {
			return // what the library had read before it noticed
		}
		f.received++
		if f.stopped = f.take(m); f.stopped != nil {
			cancel(nil)
		}
	})
	var told *daemon.Error
	if err != nil && !errors.As(err, &told) {
		return callError(err)
	}
	return err
}

// take handles what the library took for an event: one of ours, or, without data, a sign of life
// that may tell where the feed stands.
func (f *follower) take(m *sse.Event) error {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return fmt.Errorf("feed: event with id %.40q", m.ID)
	}
	if len(m.Data) == 0 {
		f.last = id
		return nil
	}
	if id <= f.last {
		return nil
	}
	var e daemon.Event
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return fmt.Errorf("feed: event %d: %w", id, err)
	}
	if err := f.fn(e); err != nil {
		return err
	}
	f.last = id
	return nil
}

// refusal is the error of an answer that is no feed.
func refusal(_ *sse.Client, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return err
	}
	return answerError(response.StatusCode, body)
}
