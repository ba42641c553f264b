package wardentest

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"
)

// Eventually waits, at most 30 seconds, for something that another process is about to do.
func Eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !happened() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// Buffer is a [bytes.Buffer] that several goroutines may use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// ShortDir is a temporary folder whose path leaves room for that of a socket.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir := Value(os.MkdirTemp("", "us"))(t)
	t.Cleanup(func() { Must(t, os.RemoveAll(dir)) })
	return dir
}
