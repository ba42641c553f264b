package stories

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// BenchmarkFeed has a thousand readers over TCP while a hundred events a second are logged, each in its own
// transaction. It measures from just before the commit until a reader has the line. Each round is a second.
func BenchmarkFeed(b *testing.B) {
	readers, perSecond := loaded(1000), loaded(100)
	r := benchRig(b)
	l := wardentest.Value(net.Listen("tcp", "127.0.0.1:0"))(b)
	address := l.Addr().String()
	l.Close()
	r.cfg.Environ = append(r.cfg.Environ, "UNDERSTUDY_LISTEN="+address)
	process := serveProcess(r)
	store := r.database()
	token := wardentest.Value(r.dir.TokenValue())(b)
	alone := rssMB(b, process.Process.Pid)
	var reading sync.WaitGroup
	all := make([]feedReader, readers)
	opened := time.Now()
	for i := range all {
		if i >= 32 { // of one address, 64 connections may be open that have not shown the token yet
			<-all[i-32].ready
		}
		reader := &all[i]
		reader.open(b, address, token)
		defer reader.conn.Close()
		reading.Go(func() { reader.read() })
	}
	for i := range all {
		<-all[i].ready
	}
	b.Logf("%d readers opened the feed in %s", readers, time.Since(opened).Round(time.Millisecond))

	sent := 0
	var commits []time.Duration
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	began, ticks := time.Now(), cpuTicks(b, process.Process.Pid)
	for b.Loop() {
		for range perSecond {
			<-tick.C
			e := &event.Event{Type: "agent_idle", Host: "bench", Payload: json.RawMessage(fmt.Sprintf(`{"sent": %d}`, time.Now().UnixNano()))}
			start := time.Now()
			must(b, store.Commit(b.Context(), &daemon.Change{Events: []*event.Event{e}}))
			commits = append(commits, time.Since(start))
			sent++
		}
	}
	took := time.Since(began)
	for i := range all {
		r.await("each reader has each event", func() (bool, string) {
			n := all[i].count()
			return n == sent, fmt.Sprintf("reader %d has %d of %d", i, n, sent)
		})
	}
	used := rssMB(b, process.Process.Pid)
	b.ReportMetric(float64(cpuTicks(b, process.Process.Pid)-ticks)/took.Seconds(), "daemon-cpu-%")
	b.ReportMetric((used-alone)*1024/float64(readers), "rss-kB/reader")
	var times []time.Duration
	for i := range all {
		all[i].conn.Close()
	}
	reading.Wait()
	for i := range all {
		times = append(times, all[i].took...)
	}
	quantiles(b, "commit", commits)
	quantiles(b, "feed", times)
	b.Logf("%d events in %s to %d readers; slowest %s; the daemon alone has %.0f MB, with them %.0f MB",
		sent, took.Round(time.Millisecond), readers, slices.Max(times).Round(time.Millisecond), alone, used)
}

// feedReader is one connection to the feed that is cheap to read.
type feedReader struct {
	conn  net.Conn
	ready chan struct{} // It is closed when the feed has begun.

	mu   sync.Mutex
	took []time.Duration
}

func (f *feedReader) open(b *testing.B, address, token string) {
	b.Helper()
	conn := wardentest.Value(net.Dial("tcp", address))(b)
	f.conn, f.ready = conn, make(chan struct{})
	value(fmt.Fprintf(conn, "GET /api/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", address, token))(b)
}

// read notes when each event arrives, until the connection is closed.
func (f *feedReader) read() {
	lines := bufio.NewReader(f.conn)
	begun := false
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if !begun {
				fmt.Fprintln(os.Stderr, "a reader was refused:", err)
				close(f.ready)
			}
			return
		}
		if !begun && bytes.HasPrefix(line, []byte("id: ")) {
			begun = true
			close(f.ready)
		}
		_, rest, ok := bytes.Cut(line, []byte(`"sent":`))
		if !ok {
			continue
		}
		at, _, _ := bytes.Cut(rest, []byte("}"))
		ns, err := strconv.ParseInt(string(bytes.TrimSpace(at)), 10, 64)
		if err != nil {
			continue
		}
		f.mu.Lock()
		f.took = append(f.took, time.Since(time.Unix(0, ns)))
		f.mu.Unlock()
	}
}

func (f *feedReader) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.took)
}
