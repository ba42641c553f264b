package api

import (
	"bytes"
	"context"
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
)

var eventType = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// streamName is the name of the one stream that a connection's own sse.Server has.
const streamName = "feed"

// streamEvents answers with the log as it grows, from an id on or from now.
//
// Each connection has an sse.Server of its own. In a shared one a reader that does not read
// stops all others: its streams wait for each subscriber.
func (s *Server) streamEvents(c echo.Context) error {
	filter, fromNow, err := feedFilter(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()

	// Subscribe first, then read the backlog, then skip what was sent: nothing falls between.
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
	if fromNow || filter.After > last { // an id of another log, which this one may never reach
		filter.After = last
	}
	s.subscribers.Add(1)
	defer s.subscribers.Add(-1)

	f := &feed{server: s, filter: filter, live: live, out: newStream(), ready: make(chan struct{})}
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

// feedFilter returns what is asked for. The header beats the parameter, for a browser comes back
// to the same address with the newest id it saw.
func feedFilter(c echo.Context) (filter daemon.EventFilter, fromNow bool, err error) {
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
			p.fail(invalid("invalid_id", "%s must be the id of an event, or 0", name))
		}
	}
	return filter, fromNow, p.err
}

// newStream sets up the library for one connection. AutoReplay, which is on by default, would
// keep every event for ever and replace ids of ours by its own; without it, AutoStream removes
// the stream when its reader has left.
func newStream() *sse.Server {
	out := sse.New()
	out.AutoReplay = false
	out.AutoStream = true
	out.SplitData = true
	out.BufferSize = 8
	out.Headers = map[string]string{
		"X-Accel-Buffering": "no",
		"Cache-Control":     "no-store",
		// The deadline of the last write stays with the connection, so it is not used again.
		"Connection": "close",
	}
	return out
}

// streamRequest is the request as the library wants it: with its stream's name, and without the
// id, which it would take for a position in its own log. It ends with ctx, and only so: the
// library's Close leaks a goroutine for each reader.
func streamRequest(ctx context.Context, r *http.Request) *http.Request {
	r = r.Clone(ctx)
	r.URL.RawQuery = url.Values{"stream": {streamName}}.Encode()
	r.Header.Del("Last-Event-ID")
	return r
}

// feed sends one reader what it asked for.
type feed struct {
	server *Server
	filter daemon.EventFilter // After is the newest event that was sent or passed over
	floor  int64              // the reader was told that events up to here may be missing
	live   <-chan *daemon.Published
	out    *sse.Server
	expect func(n int)   // tells the writer how many events are on their way
	ready  chan struct{} // closed when the reader is registered; before, events go to nobody
	behind bool          // the hub gave it up; to be read when pump has returned
}

// pump sends the backlog, then what comes, until ctx ends or the reader falls behind so far that
// the hub gives it up. The reader comes back with the id it saw last.
func (f *feed) pump(ctx context.Context) {
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

// waiting are those events that the reader wants, of one that has come and of all that wait behind it.
func (f *feed) waiting(e *daemon.Published) (wanted []*daemon.Published) {
	for e != nil {
		if e.ID > f.filter.After && f.wants(e) {
			wanted = append(wanted, e)
		}
		select {
		case e = <-f.live: // nil when it was closed, which shows again
		default:
			e = nil
		}
	}
	return wanted
}

func (f *feed) wants(e *daemon.Published) bool {
	return (len(f.filter.Types) == 0 || slices.Contains(f.filter.Types, e.Type)) && isOrAny(f.filter.AgentID, e.AgentID) &&
		isOrAny(f.filter.HandoffID, e.HandoffID) && isOrAny(f.filter.PipelineID, e.PipelineID)
}

// isOrAny says whether an event's id is the one that is asked for, if one is.
func isOrAny(want int64, id *int64) bool { return want == 0 || id != nil && *id == want }

// send waits for room in the reader's buffer, which the deadline of each write bounds.
func (f *feed) send(ctx context.Context, events []*daemon.Published) {
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

// streamWriter writes whole events, several at once where more are on their way, each time under a
// deadline. At the first write that fails it drops what follows, for the library ignores errors, and
// gives the connection up.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	giveUp  context.CancelFunc
	// preamble follows the head. It gives the reader its position, so that one that is cut off
	// before the first event comes back to it; without data it is no event.
	preamble string
	events   bytes.Buffer
	pending  atomic.Int64 // calls of Flush that are still to come
	err      error        // of the first that failed
}

func newStreamWriter(w http.ResponseWriter, timeout time.Duration, giveUp context.CancelFunc) *streamWriter {
	s := &streamWriter{w: w, control: http.NewResponseController(w), timeout: timeout, giveUp: giveUp}
	s.expect(1) // of the head
	return s
}

// expect says that so many more events will be written. Until the last one has been, the others need not
// reach the reader.
func (w *streamWriter) expect(n int) { w.pending.Add(int64(n)) }

func (w *streamWriter) Header() http.Header { return w.w.Header() }

func (w *streamWriter) WriteHeader(status int) {
	w.w.WriteHeader(status)
	if status == http.StatusOK {
		w.events.WriteString(w.preamble)
	}
}

// writeAtOnce is how much is collected before it is written although more is to come, in bytes.
const writeAtOnce = 32 << 10

// Write collects; Flush ends an event.
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
