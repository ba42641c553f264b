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
	"syscall"
	"testing"
)

// of returns a hook of an agent.
func of(launch string, pid int, session string, n int) Envelope {
	e := envelope(n)
	e.Launch, e.AgentPID, e.Body = launch, pid, json.RawMessage(fmt.Sprintf(`{"session_id":%q}`, session))
	return e
}

// keyed notes the keys of the envelopes that it is given.
func keyed(to *[]string) func(context.Context, Envelope) error {
	return func(_ context.Context, e Envelope) error {
		*to = append(*to, e.Key)
		return nil
	}
}

// keys drains the spool, and returns the keys of the envelopes.
func keys(t *testing.T, s *Spool) (got []string) {
	t.Helper()
	value(s.Drain(t.Context(), keyed(&got)))(t)
	return got
}

// TestSpoolGoesOnPastAFileThatCannotBeRead: such a file is moved to bad/, or stays if it can't be moved. In both cases
// the other files are drained, and OnBad is called once for each place.
func TestSpoolGoesOnPastAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, movable := range []bool{true, false} {
		s := OpenSpool(t.TempDir())
		put(t, s, envelope(1), envelope(2), envelope(3))
		if !movable {
			must(t, os.WriteFile(filepath.Join(s.dir, "bad"), nil, 0o600))
		}
		broken := errors.Join(errors.New("open"), syscall.EIO)
		s.read = func(path string) (Envelope, error) {
			if strings.Contains(path, "key-2") && broken != nil {
				return Envelope{}, broken
			}
			return readEnvelope(path)
		}
		var told []string
		s.OnBad = func(path string, why error) error {
			told = append(told, path)
			wantErr(t, path, why, syscall.EIO)
			return nil
		}
		name, want := fileName(envelope(2), envelope(2).At.UnixNano()), 1
		if !movable {
			want = 2 // the place where it should have gone, then the place where it stayed
		}
		for range 3 {
			if got := keys(t, s); len(got) != 0 && !slices.Equal(got, []string{"key-1", "key-3"}) {
				t.Errorf("movable %t: drained %v", movable, got)
			}
		}
		place := filepath.Join(s.dir, "bad", name)
		if !movable {
			place = filepath.Join(s.dir, name)
		}
		if len(told) != want || told[len(told)-1] != place {
			t.Errorf("movable %t: told of %q, want %s in the end", movable, told, place)
		}
		if _, err := os.Lstat(place); err != nil {
			t.Errorf("movable %t: %v", movable, err)
		}
		broken = nil // a person repairs the file, and moves it back if it was moved
		if movable {
			must(t, os.Rename(place, filepath.Join(s.dir, name)))
		}
		equal(t, fmt.Sprint("movable ", movable, ": mended, and drained"), keys(t, s), []string{"key-2"})
	}
}

// TestSpoolKeepsWhatNobodyWasToldOf: a bad file is not moved while OnBad fails. If the machine lacks resources, the file
// is not bad.
func TestSpoolKeepsWhatNobodyWasToldOf(t *testing.T) {
	t.Parallel()
	for _, why := range []error{syscall.EIO, syscall.EMFILE} {
		s := OpenSpool(t.TempDir())
		put(t, s, envelope(1))
		s.read = func(string) (Envelope, error) { return Envelope{}, why }
		away := errors.New("database is away")
		s.OnBad = func(string, error) error { return away }
		if n, err := s.Drain(t.Context(), nil); n != 0 || !errors.Is(err, away) && !errors.Is(err, why) {
			t.Errorf("%v: Drain = %d, %v", why, n, err)
		}
		wantEmpty(t, s, false)
	}
}

// TestSpoolAppliesOnceWhatCannotBeRemoved: a file that stays after its hook was applied is not handed out again.
func TestSpoolAppliesOnceWhatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	put(t, s, envelope(1), envelope(2))
	readOnly := true
	s.remove = func(path string) error {
		if readOnly && strings.Contains(path, "key-1") {
			return syscall.EROFS
		}
		return os.Remove(path)
	}
	told := 0
	s.OnBad = func(path string, why error) error {
		if told++; filepath.Base(path) != fileName(envelope(1), envelope(1).At.UnixNano()) || !errors.Is(why, syscall.EROFS) {
			t.Errorf("OnBad(%s, %v)", path, why)
		}
		return nil
	}
	var got []string
	for range 2 {
		got = append(got, keys(t, s)...)
	}
	readOnly = false
	got = append(got, keys(t, s)...)
	if !slices.Equal(got, []string{"key-1", "key-2"}) || told != 1 {
		t.Errorf("drained %v, told of %d files", got, told)
	}
	wantEmpty(t, s, true)
}

// TestSpoolThatIsNoFolder: a spool that is no folder is ErrUnreadable.
func TestSpoolThatIsNoFolder(t *testing.T) {
	t.Parallel()
	s := OpenSpool(filepath.Join(t.TempDir(), "spool"))
	must(t, os.WriteFile(s.dir, nil, 0o600))
	failed(s.Empty())(t, "Empty", ErrUnreadable)
	failed(s.Drain(t.Context(), nil))(t, "Drain", ErrUnreadable)
}

// TestDrainBeforeIsOfOneAgent: the agent is the one with the same launch secret, else the same process, else the same session.
func TestDrainBeforeIsOfOneAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		live  Envelope
		other []Envelope
	}{
		{"launch", of("a", 1, "s", 9), []Envelope{of("b", 1, "s", 4), of("", 1, "s", 5)}},
		{"process", of("", 1, "s", 9), []Envelope{of("a", 1, "s", 4), of("", 2, "s", 5), of("", 0, "s", 6)}},
		{"session", of("", 0, "s", 9), []Envelope{of("", 0, "r", 4), of("", 0, "", 5)}},
	} {
		s := OpenSpool(t.TempDir())
		first, second := c.live, c.live
		first.Key, second.Key = "first", "second"
		first.At, second.At = envelope(1).At, envelope(7).At
		put(t, s, second, first)
		put(t, s, c.other...)
		var got []string
		if n, err := s.DrainBefore(t.Context(), c.live, keyed(&got)); err != nil || n != 2 || !slices.Equal(got, []string{"first", "second"}) {
			t.Errorf("%s: drained %v, %v", c.name, got, err)
		}
		equal(t, c.name, value(s.Len())(t), len(c.other))
	}
}

// TestDrainBeforeWaitsForNoOtherAgent: while one agent's hook takes long to apply, another agent's hooks are applied.
func TestDrainBeforeWaitsForNoOtherAgent(t *testing.T) {
	t.Parallel()
	s := OpenSpool(t.TempDir())
	slow, quick := of("slow", 1, "s", 1), of("quick", 2, "s", 2)
	put(t, s, slow, quick)
	begun, end, drained := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Drain(t.Context(), func(_ context.Context, e Envelope) error {
			if e.Key == slow.Key {
				close(begun)
				<-end
			}
			return nil
		})
		drained <- err
	}()
	<-begun
	var got []string
	value(s.DrainBefore(t.Context(), quick, keyed(&got)))(t)
	equal(t, "drained", got, []string{quick.Key})
	close(end)
	must(t, <-drained)
}
