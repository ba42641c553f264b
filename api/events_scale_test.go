package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
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

// TestFeedChurn: while events are written, readers come and go at random, each with the id that it saw last. One more
// reader never reads.
func TestFeedChurn(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { s.writeTimeout = time.Second })
	stalled := must(net.Dial("unix", h.main))(t)
	defer stalled.Close()
	must(io.WriteString(stalled, "GET /api/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"))(t)
	const readers, writers, each = 20, 4, 40
	var work sync.WaitGroup
	for reader := range readers {
		chance := rand.New(rand.NewPCG(uint64(reader), 7))
		c := &conns{path: h.main}
		client := newClient("http://localhost", "", c.dial)
		work.Go(func() {
			defer client.Close()
			next := int64(1)
			for next <= writers*each {
				stay := next + chance.Int64N(40)
				err := client.Follow(t.Context(), next-1, nil, func(e event.Event) error {
					if e.ID != next {
						return fmt.Errorf("event %d after %d", e.ID, next-1)
					}
					if next++; next > stay {
						return errEnough
					}
					if next > writers*each {
						return errEnough
					}
					return nil
				})
				if !errors.Is(err, errEnough) {
					t.Errorf("reader %d: %v", reader, err)
					return
				}
			}
		})
	}
	for range writers {
		work.Go(func() { h.events(each, "agent_idle", nil) })
	}
	work.Wait()
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
	close(end)
	running.Wait()
	if err := s.replaying(t.Context(), func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("afterwards: %v", err)
	}
}

// pruned builds a fixture whose log has been pruned up to event 3; only event 2 was kept.
func pruned(t *testing.T) *fixture {
	t.Helper()
	h := build(t, func(s *Server) { s.Daemon.Settings().Log = daemon.LogSettings{MaxAge: time.Hour} })
	old := time.Now().Add(-2 * time.Hour)
	h.commit(&daemon.Change{Events: []*event.Event{
		{Type: "a", At: old, Host: "gone"}, {Type: "b", At: old, Host: "gone", Alert: true}, {Type: "c", At: old, Host: "gone"},
	}})
	must(h.house.History.Prune(t.Context()))(t) // 4: log_pruned
	must(h.house.History.Prune(t.Context()))(t)
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
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", query, &got, want)
		}
		s.close()
	}
	if s := h.mainDoor().open(""); s != nil {
		h.events(1, "agent_ended", nil)
		if got := ids(s.events(1)); got != "5" {
			t.Errorf("from now: %s", got)
		}
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
	if under.got.String() != "ab" {
		t.Errorf("written: %q", &under.got)
	}
	w.expect(2)
	fmt.Fprint(w, strings.Repeat("x", writeAtOnce))
	w.Flush()
	if under.got.Len() != 2+writeAtOnce {
		t.Errorf("%d bytes were written", under.got.Len())
	}
}
