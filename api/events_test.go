package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

var errEnough = errors.New("enough")

// block is one block of a stream: the lines up to a blank line.
type block struct {
	id, event, data, comment string
}

// stream is one raw connection to the feed.
type stream struct {
	t      testing.TB
	header http.Header
	lines  *bufio.Scanner
	close  func()
}

// open opens the feed.
func (d door) open(query string) *stream {
	d.h.t.Helper()
	ctx, cancel := context.WithCancel(d.h.t.Context())
	r := value(http.NewRequestWithContext(ctx, "GET", d.base+"/api/events"+query, nil))(d.h.t)
	for name := range d.header {
		r.Header.Set(name, d.header.Get(name))
	}
	response, err := d.client.Do(r)
	if err != nil || response.StatusCode != 200 {
		cancel()
		d.h.t.Fatalf("feed %s: %v, %v", query, response, err)
	}
	close := func() { cancel(); response.Body.Close() }
	d.h.t.Cleanup(close)
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEvent)
	return &stream{d.h.t, response.Header, lines, close}
}

// next returns the next block; ok is false at the stream's end.
func (s *stream) next() (b block, ok bool) {
	for s.lines.Scan() {
		line := s.lines.Text()
		if line == "" {
			return b, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			b.comment = value
		case "id":
			b.id = value
		case "event":
			b.event = value
		case "data":
			b.data += value
		}
	}
	return b, false
}

// events returns the next n events.
func (s *stream) events(n int) []event.Event {
	s.t.Helper()
	var got []event.Event
	for len(got) < n {
		b, ok := s.next()
		if !ok {
			s.t.Fatalf("the feed ended after %d of %d events: %v", len(got), n, s.lines.Err())
		}
		if b.data == "" {
			continue
		}
		var e event.Event
		must(s.t, json.Unmarshal([]byte(b.data), &e))
		if strconv.FormatInt(e.ID, 10) != b.id || string(e.Type) != b.event {
			s.t.Errorf("id %q and event %q around %s", b.id, b.event, b.data)
		}
		got = append(got, e)
	}
	return got
}

func ids(events []event.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, fmt.Sprint(e.ID))
	}
	return strings.Join(list, " ")
}

func TestFeed(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	a, run := h.agent(away), h.pipeline(nil) // the first of each fixture have the same ids
	h.events(8, "agent_idle", nil)
	for _, row := range []struct {
		what, query, header string
		backlog             string // ids of the events that the feed sends at once
		live                string // ids after three more events: 9 of a, 10 of the other, 11 of the pipeline
	}{
		{"from now", "", "", "", "9 10 11"},
		{"from the beginning", "?after=0", "", "1 2 3 4 5 6 7 8", "9 10 11"},
		{"after", "?after=6", "", "7 8", "9 10 11"},
		{"Last-Event-ID", "", "6", "7 8", "9 10 11"},
		{"the header beats the parameter", "?after=1", "6", "7 8", "9 10 11"},
		{"an id of another log", "?after=9000000000000000000", "", "", "9 10 11"},
		{"types", "?after=0&types=handoff_failed,operator_notified", "", "6 7 8", ""},
		{"agent", fmt.Sprintf("?after=0&agent_id=%d", a.ID), "", "1 2 3 6 7", "9"},
		{"both", fmt.Sprintf("?after=0&types=agent_idle&agent_id=%d", a.ID), "", "1 2 3", "9"},
		{"pipeline", fmt.Sprintf("?after=0&pipeline_id=%d", run.ID), "", "8", "11"},
		{"pipeline and types", fmt.Sprintf("?after=0&pipeline_id=%d&types=agent_idle", run.ID), "", "", "11"},
		{"pipeline and agent", fmt.Sprintf("?after=0&pipeline_id=%d&agent_id=%d", run.ID, a.ID), "", "", ""},
	} {
		h := build(t, nil)
		a, other, run := h.agent(away), h.agent(away), h.pipeline(nil)
		ofRun := func(typ event.Type) {
			h.commit(&daemon.Change{Events: []*event.Event{{Type: typ, Host: "here", PipelineID: &run.ID, Payload: json.RawMessage("{}")}}})
		}
		h.events(3, "agent_idle", &a.ID)     // 1 2 3
		h.events(2, "agent_idle", &other.ID) // 4 5
		h.events(2, "handoff_failed", &a.ID) // 6 7
		ofRun("operator_notified")           // 8
		d := h.mainDoor()
		if row.header != "" {
			d = d.with("Last-Event-ID", row.header)
		}
		s := d.open(row.query)
		if s.header.Get("Content-Type") != "text/event-stream" || s.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: header %v", row.what, s.header)
		}
		if first, ok := s.next(); !ok || first.id == "" || first.data != "" {
			t.Errorf("%s: the first block is %+v, want the position alone", row.what, first)
		}
		want := strings.Fields(row.backlog)
		equal(t, row.what, ids(s.events(len(want))), row.backlog)
		h.events(1, "agent_idle", &a.ID)
		h.events(1, "agent_idle", &other.ID)
		ofRun("agent_idle")
		equal(t, row.what, ids(s.events(len(strings.Fields(row.live)))), row.live)
	}
	h.mainDoor().with("Last-Event-ID", "evt-7").do("GET", "/api/events", "").wants(t, "Last-Event-ID", 400, "invalid_id")
	h.mainDoor().with("Last-Event-ID", "-1").do("GET", "/api/events?after=1", "").wants(t, "Last-Event-ID", 400, "invalid_id")
	equal(t, "the feed over TCP", ids(h.tcpDoor().open("?after=7").events(1)), "8")
}

// TestFeedHeartbeat: the feed goes on after the deadline for reading a request.
func TestFeedHeartbeat(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.heartbeat, s.readTimeout = 20*time.Millisecond, 100*time.Millisecond })
	for _, d := range []door{h.mainDoor(), h.tcpDoor()} {
		s := d.open("")
		for beats := 0; beats < 15; {
			b, ok := s.next()
			if !ok {
				t.Fatalf("%s: the feed ended after %d heartbeats: %v", d.name, beats, s.lines.Err())
			}
			if b.comment == "heartbeat" {
				beats++
			}
		}
		s.close()
	}
	h.abandoned()
}

// abandoned waits until the feed has no readers.
func (h *fixture) abandoned() {
	h.t.Helper()
	tmuxtest.Eventually(h.t, "all readers of the feed have left", func() bool { return h.server.subscribers.Load() == 0 })
}

// conns opens connections to a socket and cuts them.
type conns struct {
	path string
	mu   sync.Mutex
	last net.Conn
	n    int
}

func (c *conns) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = conn
	c.n++
	return conn, err
}

func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.last.Close()
}

// TestFeedWithoutGaps: readers are cut off again and again while eight writers append. No reader misses an event.
func TestFeedWithoutGaps(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	const writers, each, readers = 8, 100, 4
	var reading, writing sync.WaitGroup
	for reader := range readers {
		c := &conns{path: h.main}
		client := newClient("http://localhost", "", c.dial)
		reading.Go(func() {
			defer client.Close()
			next := int64(1)
			err := client.Follow(t.Context(), 0, nil, func(e event.Event) error {
				if e.ID != next {
					t.Errorf("reader %d got event %d, want %d", reader, e.ID, next)
					return errEnough
				}
				next++
				if e.ID%int64(101+20*reader) == 0 {
					c.cut()
				}
				if e.ID == writers*each {
					return errEnough
				}
				return nil
			})
			wantErr(t, fmt.Sprintf("reader %d ended with", reader), err, errEnough)
			if c.n < 4 {
				t.Errorf("reader %d connected %d times; the cuts did not happen", reader, c.n)
			}
		})
	}
	for range writers {
		writing.Go(func() { h.events(each, "agent_idle", nil) })
	}
	writing.Wait()
	reading.Wait()
	h.abandoned()
}

// TestFeedDropsWhoDoesNotRead: the server drops a reader that never reads once its buffers are full. Other readers go on.
func TestFeedDropsWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.writeTimeout = 3 * time.Second }) // long enough for the other reader on a busy machine
	stalled := value(net.Dial("unix", h.main))(t)
	defer stalled.Close()
	value(io.WriteString(stalled, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
	tmuxtest.Eventually(t, "the reader that will not read has come", func() bool { return h.server.subscribers.Load() == 1 })

	const batches, each = 5, 20
	payload := json.RawMessage(`"` + strings.Repeat("x", 32<<10) + `"`)
	var writing sync.WaitGroup
	writing.Go(func() {
		for range batches {
			c := &daemon.Change{}
			for range each {
				c.Events = append(c.Events, &event.Event{Type: "agent_idle", Host: "here", Payload: payload})
			}
			h.commit(c)
		}
	})
	next := int64(1)
	err := h.client.Follow(t.Context(), 0, nil, func(e event.Event) error {
		if e.ID != next {
			return fmt.Errorf("got event %d, want %d", e.ID, next)
		}
		if next++; e.ID == batches*each {
			return errEnough
		}
		return nil
	})
	wantErr(t, "the healthy reader", err, errEnough)
	writing.Wait()
	h.abandoned() // the stalled connection is still open
	if got := h.metrics(); got["understudy_feed_readers_dropped_total"] != 1 || got["understudy_feed_events_sent_total"] < batches*each {
		t.Errorf("%v readers dropped, %v events sent; want 1 and %d or more",
			got["understudy_feed_readers_dropped_total"], got["understudy_feed_events_sent_total"], batches*each)
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	h := build(t, nil)
	var streams []*stream
	for range 20 {
		streams = append(streams, h.mainDoor().open(""), h.tcpDoor().open(""))
	}
	begun := time.Now()
	must(t, h.quit())
	if took := time.Since(begun); took > time.Second {
		t.Errorf("the shutdown took %v with streams open", took)
	}
	for _, s := range streams {
		for {
			if _, ok := s.next(); !ok {
				break
			}
		}
		s.close()
	}
	equal(t, "readers are left", h.server.subscribers.Load(), int64(0))
	tmuxtest.Eventually(t, "no goroutine of a stream is left", func() bool {
		all := make([]byte, 8<<20)
		all = all[:runtime.Stack(all, true)]
		return !bytes.Contains(all, []byte("api.(*feed)")) && !bytes.Contains(all, []byte("r3labs/sse")) && !bytes.Contains(all, []byte("api.(*Server).streamEvents"))
	})
}

// TestStreamWriter: a write error ends the stream. A test by the library cannot show that.
func TestStreamWriter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	under := &brokenWriter{header: http.Header{}}
	w := newStreamWriter(under, time.Second, cancel)
	w.preamble = "id: 7\n\n"
	w.WriteHeader(200)
	w.Flush()
	under.err = io.ErrClosedPipe
	fmt.Fprint(w, "data: lost\n\n")
	w.Flush()
	if ctx.Err() == nil {
		t.Error("a failed write did not end the stream")
	}
	under.err = nil
	fmt.Fprint(w, "data: out of order\n\n")
	w.Flush()
	equal(t, "written", under.got.String(), "id: 7\n\n")
}

type brokenWriter struct {
	header http.Header
	got    bytes.Buffer
	err    error
}

func (b *brokenWriter) Header() http.Header              { return b.header }
func (b *brokenWriter) WriteHeader(int)                  {}
func (b *brokenWriter) Flush()                           {}
func (b *brokenWriter) SetWriteDeadline(time.Time) error { return nil }
func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.got.Write(p)
}

// TestFeedTurns: no more than replaysAtOnce readers query the database, and a reader that leaves stops waiting.
func TestFeedTurns(t *testing.T) {
	t.Parallel()
	s := New(Config{House: &house.House{Daemon: &intake.Daemon{}}})
	if cap(s.replays) > 5 {
		t.Errorf("%d readers at once leave too little of the pool", cap(s.replays))
	}
	var running sync.WaitGroup
	begun, end := make(chan struct{}), make(chan struct{})
	for range replaysAtOnce {
		running.Go(func() {
			_ = s.replaying(t.Context(), func() error {
				begun <- struct{}{}
				<-end
				return nil
			})
		})
	}
	for range replaysAtOnce {
		<-begun
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	asked := false
	if err := s.replaying(gone, func() error { asked = true; return nil }); !errors.Is(err, context.Canceled) || asked {
		t.Errorf("one too many: %v, asked %t", err, asked)
	}
	wantErr(t, "a replay for a reader that has left", (&feedReader{server: s}).replay(gone), context.Canceled)
	close(end)
	running.Wait()
	wantErr(t, "afterwards", s.replaying(t.Context(), func() error { return io.EOF }), io.EOF)
}

// pruned builds a fixture whose log has been pruned up to event 3; only event 2 was kept.
func pruned(t *testing.T) *fixture {
	t.Helper()
	h := build(t, func(s *Server) { s.Daemon.Settings().Log = daemon.LogSettings{MaxAge: time.Hour} })
	old := time.Now().Add(-2 * time.Hour)
	h.commit(&daemon.Change{Events: []*event.Event{
		{Type: "a", At: old, Host: "gone"}, {Type: "b", At: old, Host: "gone", Alert: true}, {Type: "c", At: old, Host: "gone"},
	}})
	value(h.house.History.Prune(t.Context()))(t) // 4: log_pruned
	value(h.house.History.Prune(t.Context()))(t)
	return h
}

func TestFeedTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := pruned(t)
	for query, want := range map[string]string{
		"?after=0":                   "0 feed_truncated|2 b|4 log_pruned|",
		"?after=1":                   "1 feed_truncated|2 b|4 log_pruned|",
		"?after=2":                   "2 feed_truncated|4 log_pruned|",
		"?after=2&types=agent_ended": "2 feed_truncated|",
		"?after=3":                   "4 log_pruned|",
	} {
		s := h.mainDoor().open(query)
		var got strings.Builder
		for range strings.Count(want, "|") {
			e := s.events(1)[0]
			fmt.Fprintf(&got, "%d %s|", e.ID, e.Type)
			if e.Type == event.FeedTruncated && string(e.Payload) != fmt.Sprintf(`{"after":%d,"oldest":4}`, e.ID) {
				t.Errorf("%s: payload %s", query, e.Payload)
			}
			if e.Type == "log_pruned" && !strings.Contains(string(e.Payload), `"hooks":0`) {
				t.Errorf("payload %s", e.Payload)
			}
		}
		equal(t, query, got.String(), want)
		s.close()
	}
	if s := h.mainDoor().open(""); s != nil {
		h.events(1, "agent_ended", nil)
		equal(t, "from now", ids(s.events(1)), "5")
	}
}

// TestFollowTellsWhatIsMissing: the client passes on once that events are missing, however often it is cut off.
func TestFollowTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := pruned(t)
	c := &conns{path: h.main}
	client := newClient("http://localhost", "", c.dial)
	defer client.Close()
	var got strings.Builder
	err := client.Follow(t.Context(), 1, []string{"agent_ended"}, func(e event.Event) error {
		fmt.Fprintf(&got, "%d %s|", e.ID, e.Type)
		if e.Type == "agent_ended" {
			return errEnough
		}
		c.cut()
		go func() {
			tmuxtest.Eventually(t, "the client has come back", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.n > 1 })
			h.events(1, "agent_ended", nil)
		}()
		return nil
	})
	if want := "1 feed_truncated|5 agent_ended|"; !errors.Is(err, errEnough) || got.String() != want {
		t.Errorf("got %s, %v; want %s", &got, err, want)
	}
}

// TestStreamWriterWaitsForMore: the writer writes events that come together at once, but not too many bytes.
func TestStreamWriterWaitsForMore(t *testing.T) {
	t.Parallel()
	under := &brokenWriter{header: http.Header{}}
	w := newStreamWriter(under, time.Second, func() {})
	w.WriteHeader(200)
	w.expect(2)
	w.Flush() // the head
	fmt.Fprint(w, "a")
	w.Flush()
	if under.got.Len() > 0 {
		t.Errorf("written before the last: %q", &under.got)
	}
	fmt.Fprint(w, "b")
	w.Flush()
	equal(t, "written", under.got.String(), "ab")
	w.expect(2)
	fmt.Fprint(w, strings.Repeat("x", writeAtOnce))
	w.Flush()
	equal(t, "bytes were written", under.got.Len(), 2+writeAtOnce)
}
