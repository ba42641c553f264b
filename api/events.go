package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/r3labs/sse/v2"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
)

var eventType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// streamName is the name of the one stream that a connection's own sse.Server has.
const streamName = "feed"

// streamEvents answers with the feed: the events of the log as it grows, after an id or from now on.
//
// Each connection has an sse.Server of its own. In a shared one a reader that does not read would stop all others, because
// the library waits for each subscriber.
func (s *Server) streamEvents(c echo.Context) error {
	filter, fromNow, err := feedFilter(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()

	// Subscribe first, then read the backlog, then skip the events that were sent: so no event is missed.
	live, unsubscribe := s.Daemon.Subscribe()
	defer unsubscribe()
	var last int64
	err = s.replaying(ctx, func() (err error) {
		last, err = s.Daemon.LastEventID(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if fromNow || filter.After > last { // it is an id of another log, which this log may never reach
		filter.After = last
	}
	s.subscribers.Add(1)
	defer s.subscribers.Add(-1)

	f := &feedReader{server: s, filter: filter, live: live, out: newStream(), ready: make(chan struct{})}
	f.out.OnSubscribe = func(string, *sse.Subscriber) { close(f.ready) }
	w := newStreamWriter(c.Response(), s.writeTimeout, cancel)
	f.expect = w.expect
	w.preamble = fmt.Sprintf("id: %d\nretry: 1000\n\n", filter.After)
	var pump sync.WaitGroup
	pump.Go(func() {
		defer cancel()
		f.pump(ctx)
	})
	f.out.ServeHTTP(w, streamRequest(ctx, c.Request()))
	cancel()
	pump.Wait()
	if f.behind || errors.Is(w.err, os.ErrDeadlineExceeded) {
		s.dropped.Add(1)
	}
	return nil
}

// feedFilter returns the filter of a request. The header wins over the parameter, because a browser comes back to the same
// address, with the newest id that it saw in the header.
func feedFilter(c echo.Context) (filter event.Filter, fromNow bool, err error) {
	p := paramsOf(c)
	filter.AgentID, filter.HandoffID, filter.PipelineID = p.id("agent_id"), p.id("handoff_id"), p.id("pipeline_id")
	filter.Types = p.types()
	name, value := "Parameter \"after\"", p.text("after")
	fromNow = !p.values.Has("after")
	if last := c.Request().Header.Get("Last-Event-ID"); last != "" {
		name, value, fromNow = "Header Last-Event-ID", last, false
	}
	if !fromNow {
		filter.After, err = strconv.ParseInt(value, 10, 64)
		if err != nil || filter.After < 0 {
			p.fail(invalid(codeInvalidID, "%s must be the id of an event, or 0", name))
		}
	}
	return filter, fromNow, p.err
}

// newStream sets up the library for one connection. It switches off AutoReplay, which would keep every event for ever and
// replace our ids by its own. Without AutoReplay, AutoStream removes the stream when its reader has left.
func newStream() *sse.Server {
	out := sse.New()
	out.AutoReplay = false
	out.AutoStream = true
	out.SplitData = true
	out.BufferSize = 8
	out.Headers = map[string]string{
		"X-Accel-Buffering": "no",
		"Cache-Control":     "no-store",
		// The connection keeps the deadline of the last write, so it is not used again.
		"Connection": "close",
	}
	return out
}

// streamRequest returns the request in the form that the library needs: with the name of its stream, and without the id,
// which the library would take for a position in its own log. The request ends only with ctx: the library's Close would leak
// a goroutine for each reader.
func streamRequest(ctx context.Context, r *http.Request) *http.Request {
	r = r.Clone(ctx)
	r.URL.RawQuery = url.Values{"stream": {streamName}}.Encode()
	r.Header.Del("Last-Event-ID")
	return r
}

// feedReader sends the events of the feed to one reader.
type feedReader struct {
	server *Server
	filter event.Filter // After is the id of the newest event that was sent or skipped
	floor  int64        // the reader was told that events up to this id may be missing
	live   <-chan *feed.Published
	out    *sse.Server
	expect func(n int)   // tells the writer how many events come next
	ready  chan struct{} // closed when the library has registered the reader; before that it drops events
	behind bool          // the hub has dropped the reader; read it only after pump has returned
}

// pump sends the backlog and then new events, until ctx ends or the hub drops the reader because it has fallen behind. The
// reader comes back with the id that it saw last.
func (f *feedReader) pump(ctx context.Context) {
	select {
	case <-f.ready:
	case <-ctx.Done():
		return
	}
	if err := f.replay(ctx); err != nil {
		if ctx.Err() == nil {
			f.server.Log.Warn("feed ended: events not read", "after", f.filter.After, "error", err)
		}
		return
	}
	beat := time.NewTicker(f.server.heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			f.expect(1)
			f.out.Publish(streamName, &sse.Event{Comment: []byte("heartbeat")})
		case e, ok := <-f.live:
			if !ok {
				f.behind = true
				return
			}
			f.send(ctx, f.waiting(e))
		}
	}
}

// waiting returns the events that the reader wants, of e and all events that wait in the channel behind it.
func (f *feedReader) waiting(e *feed.Published) (wanted []*feed.Published) {
	for e != nil {
		if e.ID > f.filter.After && f.wants(e) {
			wanted = append(wanted, e)
		}
		select {
		case e = <-f.live: // nil if the channel is closed; pump will see that too
		default:
			e = nil
		}
	}
	return wanted
}

func (f *feedReader) wants(e *feed.Published) bool {
	return (len(f.filter.Types) == 0 || slices.Contains(f.filter.Types, string(e.Type))) && matches(f.filter.AgentID, e.AgentID) &&
		matches(f.filter.HandoffID, e.HandoffID) && matches(f.filter.PipelineID, e.PipelineID)
}

// matches reports whether an event's id is the wanted one. 0 wants every event.
func matches(want int64, id *int64) bool { return want == 0 || id != nil && *id == want }

// send waits for room in the reader's buffer. It does not wait for ever, because each write has a deadline.
func (f *feedReader) send(ctx context.Context, events []*feed.Published) {
	f.expect(len(events))
	for _, e := range events {
		if ctx.Err() != nil {
			return
		}
		f.filter.After = e.ID
		f.out.Publish(streamName, &sse.Event{ID: strconv.AppendInt(nil, e.ID, 10), Event: []byte(e.Type), Data: e.JSON})
		f.server.sent.Add(1)
	}
}

// streamWriter writes whole events, several at once if more come, with a deadline for each write. The library ignores errors
// of a write. So streamWriter closes the connection at the first one, and drops everything that follows.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	giveUp  context.CancelFunc
	// preamble follows the head. It gives the reader its position, so that a reader that is cut off before the first event
	// comes back to that position. It has no data, so it is not an event.
	preamble string
	events   bytes.Buffer
	pending  atomic.Int64 // how many calls of Flush are still to come
	err      error        // error of the first write that failed
}

func newStreamWriter(w http.ResponseWriter, timeout time.Duration, giveUp context.CancelFunc) *streamWriter {
	s := &streamWriter{w: w, control: http.NewResponseController(w), timeout: timeout, giveUp: giveUp}
	s.expect(1) // the head
	return s
}

// expect announces n more events. The writer may hold them back until the last one has come.
func (w *streamWriter) expect(n int) { w.pending.Add(int64(n)) }

func (w *streamWriter) Header() http.Header { return w.w.Header() }

func (w *streamWriter) WriteHeader(status int) {
	w.w.WriteHeader(status)
	if status == http.StatusOK {
		w.events.WriteString(w.preamble)
	}
}

// writeAtOnce is how many bytes the writer collects at most, even if more events come.
const writeAtOnce = 32 << 10

// Write collects bytes. Flush ends an event.
func (w *streamWriter) Write(p []byte) (int, error) { return w.events.Write(p) }

func (w *streamWriter) Flush() {
	if w.pending.Add(-1) > 0 && w.events.Len() < writeAtOnce {
		return
	}
	defer w.events.Reset()
	if w.err != nil {
		return
	}
	err := w.control.SetWriteDeadline(time.Now().Add(w.timeout))
	if err == nil {
		_, err = w.w.Write(w.events.Bytes())
	}
	if err == nil {
		err = w.control.Flush()
	}
	if err != nil {
		w.err = err
		w.giveUp()
	}
}

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
		floor, err = f.server.History.LogFloor(ctx) // after the events, so that the floor covers every event they lack
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
