package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func envelope(n int) Envelope {
	at := time.Unix(1_700_000_000, int64(n)).UTC()
	return Envelope{
		Key: fmt.Sprintf("key-%d", n), Event: Stop, Launch: "secret", Tmux: "/tmp/t,1,0", Pane: "%1",
		AgentPID: 42, AgentStart: 4711, Boot: "boot-1", At: at, Body: json.RawMessage(fmt.Sprintf(`{"n":%d,"text":"<&>"}`, n)),
	}
}

func put(t *testing.T, s *Spool, es ...Envelope) {
	t.Helper()
	for _, e := range es {
		must(t, s.Put(e))
	}
}

func wantEmpty(t *testing.T, s *Spool, want bool) {
	t.Helper()
	equal(t, "Empty()", value(s.Empty())(t), want)
}

func TestSpoolOrderAndContent(t *testing.T) {
	t.Parallel()
	s := OpenSpool(filepath.Join(t.TempDir(), "spool"))
	wantEmpty(t, s, true)
	put(t, s, envelope(3), envelope(1), envelope(2))
	wantEmpty(t, s, false)
	files := value(s.files())(t)
	equal(t, "file", files[0], "01700000000000000001-key-1."+envelope(1).agent()+".json")
	equal(t, "mode", value(os.Stat(filepath.Join(s.dir, files[0])))(t).Mode(), os.FileMode(0o600))
	next := 1
	equal(t, "drained", value(s.Drain(t.Context(), func(_ context.Context, got Envelope) error {
		equal(t, "keys", fmt.Sprint(got), fmt.Sprint(envelope(next)))
		next++
		return nil
	}))(t), 3)
	wantEmpty(t, s, true)
}

// TestSpoolAfterTheClockWasSetBack: an agent's hooks are handed out in their order even if the clock was set back between
// them, and even if a hook that started first was spooled later.
func TestSpoolAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	s := OpenSpool(filepath.Join(t.TempDir(), "spool"))
	now := envelope(100).At
	s.Clock = func() time.Time { return now }
	put(t, s, envelope(97), envelope(96), envelope(99))
	now = envelope(50).At
	other := envelope(48)
	other.Launch = "another's"
	put(t, s, envelope(49), envelope(50), other)
	equal(t, "handed out", keys(t, s), strings.Fields("key-48 key-96 key-97 key-99 key-49 key-50"))
}

func TestSpoolKeepsWhatWasNotAccepted(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	put(t, s, envelope(1), envelope(2), envelope(3))
	away := errors.New("database is away")
	refuse := func(_ context.Context, e Envelope) error {
		if e.Key == "key-2" {
			return away
		}
		return nil
	}
	if n, err := s.Drain(t.Context(), refuse); n != 1 || !errors.Is(err, away) {
		t.Errorf("Drain = %d, %v", n, err)
	}
	equal(t, "second Drain", fmt.Sprint(keys(t, s)), "[key-2 key-3]")
}

func TestSpoolDrainsWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	put(t, s, envelope(1))
	equal(t, "drained", value(s.Drain(t.Context(), func(_ context.Context, e Envelope) error {
		if e.Key == "key-1" {
			return s.Put(envelope(2))
		}
		return nil
	}))(t), 2)
}

func TestSpoolStopsWithItsContext(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	put(t, s, envelope(1), envelope(2))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopping := errors.New("daemon stops")
	n, err := s.Drain(ctx, func(context.Context, Envelope) error { cancel(stopping); return nil })
	if n != 1 || !errors.Is(err, stopping) {
		t.Errorf("Drain = %d, %v", n, err)
	}
	wantEmpty(t, s, false)
}

func TestSpoolOneDrainAtATime(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	for i := range 50 {
		put(t, s, envelope(i))
	}
	var mu sync.Mutex
	seen, inside := map[string]int{}, 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := s.Drain(t.Context(), func(_ context.Context, e Envelope) error {
				mu.Lock()
				inside++
				if seen[e.Key]++; inside > 1 {
					t.Error("two Drains at once")
				}
				mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				inside--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for key, n := range seen {
		equal(t, key+" came … times", n, 1)
	}
	equal(t, "came", len(seen), 50)
	// A Drain that waits for its turn ends with its context.
	put(t, s, envelope(1))
	value(s.turn(t.Context(), envelope(1).agent()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed(s.Drain(ctx, nil))(t, "waiting Drain", context.Canceled)
}

func TestSpoolSetsBadFilesAside(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	bad := map[string]string{
		"00000000000000000000-cut.json":   `{"key":"cut","ev`,
		"00000000000000000001-empty.json": ``,
		"00000000000000000002-event.json": `{"key":"a","event":"../x","at":"2026-11-20T00:00:00Z","body":{}}`,
		"00000000000000000003-key.json":   `{"key":"a b","event":"Stop","at":"2026-11-20T00:00:00Z","body":{}}`,
		"00000000000000000004-large.json": strings.Repeat(" ", maxSpoolFile+1),
	}
	for name, text := range bad {
		must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "00000000000000000005-link.json")))
	put(t, s, envelope(1))
	var told int
	s.OnBad = func(path string, why error) error {
		told++
		if filepath.Base(filepath.Dir(path)) != "bad" || why == nil {
			t.Errorf("OnBad(%s, %v)", path, why)
		}
		return nil
	}
	equal(t, "drained", keys(t, s), []string{"key-1"})
	equal(t, "told of bad files", told, len(bad)+1)
	equal(t, "files in bad/", len(value(os.ReadDir(filepath.Join(s.dir, "bad")))(t)), told)
	wantEmpty(t, s, true)
}

func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	if s.maxFiles != 10_000 || s.maxBytes != 256<<20 {
		t.Errorf("limits %d files, %d bytes", s.maxFiles, s.maxBytes)
	}
	s.maxFiles = 2
	put(t, s, envelope(1), envelope(2))
	wantErr(t, "third file", s.Put(envelope(3)), "full: 2 files")
	s.maxFiles, s.maxBytes = 100, 900
	must(t, s.Put(envelope(3)))
	e := envelope(4)
	e.Body = json.RawMessage(`"` + strings.Repeat("a", 900) + `"`)
	wantErr(t, "beyond the bytes", s.Put(e), "full")
	wantNames(t, s.dir, 3)
}

func TestSpoolRefusesWhatIsNoEnvelope(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	for name, change := range map[string]func(*Envelope){
		"no key":       func(e *Envelope) { e.Key = "" },
		"path in key":  func(e *Envelope) { e.Key = "../x" },
		"event":        func(e *Envelope) { e.Event = "session-start" },
		"body no JSON": func(e *Envelope) { e.Body = json.RawMessage("{") },
		"body too big": func(e *Envelope) { e.Body = json.RawMessage(`"` + strings.Repeat("a", maxSpoolFile) + `"`) },
	} {
		e := envelope(1)
		change(&e)
		wantErr(t, name+": accepted", s.Put(e))
	}
	missing := OpenSpool(filepath.Join(s.dir, "a", "b"))
	wantErr(t, "without a data directory", missing.Put(envelope(1)), os.ErrNotExist)
	failed(os.Stat(filepath.Join(s.dir, "a")))(t, "Put made a data directory")
}

func TestSpoolSweepsWhatAKilledHookLeft(t *testing.T) {
	t.Parallel()
	s := OpenSpool(filepath.Join(t.TempDir(), "a[b]*"))
	put(t, s, envelope(1))
	old, young := filepath.Join(s.dir, tempPrefix+"old"), filepath.Join(s.dir, tempPrefix+"young.json")
	for _, path := range []string{old, young} {
		must(t, os.WriteFile(path, nil, 0o600))
	}
	hourAgo := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(old, hourAgo, hourAgo))
	equal(t, "drained", keys(t, s), []string{"key-1"})
	failed(os.Stat(old))(t, "old temporary file", os.ErrNotExist)
	value(os.Stat(young))(t)
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, b, later := NewKey(now), NewKey(now), NewKey(now.Add(time.Nanosecond))
	if a == b || !validKey(a) || max(a, b) >= later {
		t.Errorf("keys %s, %s, then %s", a, b, later)
	}
}

// TestSpoolDrainsInTheOrderInWhichTheyWait: who gives up waiting lets the others pass.
func TestSpoolDrainsInTheOrderInWhichTheyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := OpenSpool(t.TempDir())
		end := value(s.turn(t.Context(), "a"))(t)
		short, giveUp := context.WithCancel(t.Context())
		order := make(chan int, 4)
		for i, ctx := range []context.Context{t.Context(), short, t.Context(), t.Context()} {
			go func() {
				if end, err := s.turn(ctx, "a"); err == nil {
					order <- i
					end()
				}
			}()
			synctest.Wait()
		}
		if other, err := s.turn(t.Context(), "b"); err != nil {
			t.Fatal(err)
		} else {
			other()
		}
		giveUp()
		synctest.Wait()
		end()
		synctest.Wait()
		close(order)
		var got []int
		for i := range order {
			got = append(got, i)
		}
		if !slices.Equal(got, []int{0, 2, 3}) || len(s.turns) != 0 {
			t.Errorf("they drained in the order %v, want 0, 2, 3; %d lines are left", got, len(s.turns))
		}
	})
}
