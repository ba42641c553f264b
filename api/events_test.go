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

// open opens the feed; headers come in pairs.
func (d door) open(query string, headers ...string) *stream {
	d.h.t.Helper()
	ctx, cancel := context.WithCancel(d.h.t.Context())
	r := must(http.NewRequestWithContext(ctx, "GET", d.base+"/api/events"+query, nil))(d.h.t)
	for name := range d.header {
		r.Header.Set(name, d.header.Get(name))
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
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
		check(s.t, json.Unmarshal([]byte(b.data), &e))
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
	a := h.agent(away) // the first agent of each fixture has the same id
	h.events(8, "agent_idle", nil)
	for _, row := range []struct {
		what, query, header string
		backlog             string // ids of the events that the feed sends at once
		live                string // ids after three more events: 9 of a, 10 of the other, 11 of no agent
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
	} {
		h := build(t, nil)
		a, other := h.agent(away), h.agent(away)
		h.events(3, "agent_idle", &a.ID)      // 1 2 3
		h.events(2, "agent_idle", &other.ID)  // 4 5
		h.events(2, "handoff_failed", &a.ID)  // 6 7
		h.events(1, "operator_notified", nil) // 8
		var headers []string
		if row.header != "" {
			headers = []string{"Last-Event-ID", row.header}
		}
		s := h.mainDoor().open(row.query, headers...)
		if s.header.Get("Content-Type") != "text/event-stream" || s.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: header %v", row.what, s.header)
		}
		if first, ok := s.next(); !ok || first.id == "" || first.data != "" {
			t.Errorf("%s: the first block is %+v, want the position alone", row.what, first)
		}
		want := strings.Fields(row.backlog)
		if got := ids(s.events(len(want))); got != row.backlog {
			t.Errorf("%s: backlog %s, want %s", row.what, got, row.backlog)
		}
		h.events(1, "agent_idle", &a.ID)
		h.events(1, "agent_idle", &other.ID)
		h.events(1, "agent_idle", nil)
		if got := ids(s.events(len(strings.Fields(row.live)))); got != row.live {
			t.Errorf("%s: live %s, want %s", row.what, got, row.live)
		}
	}
	h.mainDoor().with("Last-Event-ID", "evt-7").do("GET", "/api/events", "").wants(t, "Last-Event-ID", 400, "invalid_id")
	h.mainDoor().with("Last-Event-ID", "-1").do("GET", "/api/events?after=1", "").wants(t, "Last-Event-ID", 400, "invalid_id")
	if s := h.tcpDoor().open("?after=7"); ids(s.events(1)) != "8" {
		t.Error("the feed over TCP")
	}
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
			if !errors.Is(err, errEnough) {
				t.Errorf("reader %d ended with %v at event %d", reader, err, next)
			}
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
	stalled := must(net.Dial("unix", h.main))(t)
	defer stalled.Close()
	must(io.WriteString(stalled, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
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
	if !errors.Is(err, errEnough) {
		t.Errorf("the healthy reader: %v", err)
	}
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
	check(t, h.quit())
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
	if n := h.server.subscribers.Load(); n != 0 {
		t.Errorf("%d readers are left", n)
	}
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
	if got := under.got.String(); got != "id: 7\n\n" {
		t.Errorf("written: %q", got)
	}
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
