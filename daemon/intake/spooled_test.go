package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
)

// spoolStore is a database that notes the order in which hooks are recorded, and has some of them wait.
type spoolStore struct {
	daemon.Store
	wait map[string]chan struct{} // by key

	refuses string // the key of a hook that it cannot store

	mu    sync.Mutex
	keys  []string
	told  []string // the messages of alerts
	fails error    // of commits
}

func (s *spoolStore) RecordHook(ctx context.Context, in daemon.HookInput, _ func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	if ch := s.wait[in.Key]; ch != nil {
		select {
		case <-ch:
		case <-ctx.Done():
			return daemon.HookResult{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Key == s.refuses {
		return daemon.HookResult{}, errors.New("a constraint of the database")
	}
	s.keys = append(s.keys, in.Key)
	return daemon.HookResult{HookID: int64(len(s.keys)), Applied: true}, nil
}

func (s *spoolStore) Commit(_ context.Context, c *daemon.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails
	}
	for _, e := range c.Events {
		s.told = append(s.told, string(e.Type)+" "+string(e.Payload))
	}
	return nil
}

func spoolDaemon(t *testing.T, s *spoolStore) *Daemon {
	dir := data.At(t.TempDir())
	return New(engine.Config{Host: "h", Store: s, Data: dir, Log: slog.New(slog.DiscardHandler)})
}

// stopOf returns the n-th Stop of an agent.
func stopOf(launch string, n int) hooks.Envelope {
	return hooks.Envelope{
		Key: fmt.Sprintf("%s-%d", launch, n), Event: hooks.Stop, Launch: launch, AgentPID: 7,
		At: time.Unix(1_800_000_000, int64(n)), Body: json.RawMessage(`{}`),
	}
}

func spoolUp(t *testing.T, d *Daemon, list ...hooks.Envelope) {
	t.Helper()
	for _, e := range list {
		must(t, d.Spool.Put(e))
	}
}

// A live hook is applied after the hooks that its agent has spooled. It does not wait for other agents, and not for long.
func TestLiveHookWaitsForItsOwnAgentAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &spoolStore{wait: map[string]chan struct{}{"a-1": make(chan struct{})}}
		d := spoolDaemon(t, s)
		spoolUp(t, d, stopOf("a", 1), stopOf("b", 2), stopOf("a", 3))
		drained := make(chan error, 1)
		go func() { drained <- d.replaySpool(t.Context()) }()
		synctest.Wait()

		began := time.Now()
		if _, err := d.Hook(t.Context(), stopOf("b", 4), nil); err != nil || time.Since(began) != 0 {
			t.Errorf("hook of another agent: %v after %s", err, time.Since(began))
		}
		_, err := d.Hook(t.Context(), stopOf("a", 5), nil)
		var told *daemon.Error
		if !errors.As(err, &told) || told.Kind != daemon.KindUnavailable || told.Code != "hooks_spooled" {
			t.Errorf("hook of the agent: %v, want it sent into the spool", err)
		}
		equal(t, "the agent was kept waiting for", time.Since(began), hooks.AnswerTimeout(hooks.Stop)/4)
		close(s.wait["a-1"])
		must(t, <-drained)
		spoolUp(t, d, stopOf("a", 5))
		value(d.Hook(t.Context(), stopOf("a", 6), nil))(t)
		equal(t, "recorded", s.keys, []string{"b-2", "b-4", "a-1", "a-3", "a-5", "a-6"})
	})
}

// The operator is told once, and live hooks are applied.
func TestSpoolThatCannotBeReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := &spoolStore{fails: errors.New("the database is away")}
	d := spoolDaemon(t, s)
	must(t, errors.Join(os.MkdirAll(filepath.Dir(d.Data.Spool()), 0o700), os.WriteFile(d.Data.Spool(), nil, 0o600)))
	replay := func() {
		t.Helper()
		must(t, d.replaySpool(t.Context()))
	}
	replay() // the operator can't be told
	s.fails = nil
	for range 3 {
		replay()
	}
	for n := range 2 {
		value(d.Hook(t.Context(), stopOf("a", n), nil))(t)
	}
	if len(s.told) != 1 || !strings.Contains(s.told[0], "spool_unreadable") || !strings.Contains(s.told[0], "ls -ld") {
		t.Errorf("told %q", s.told)
	}
	must(t, os.Remove(d.Data.Spool()))
	replay()
	must(t, os.WriteFile(d.Data.Spool(), nil, 0o600))
	replay()
	equal(t, "told of what happened twice", len(s.told), 2)
}

// The alert says where the file is and what to do. If the alert can't be stored, the file waits in the spool.
func TestUnreadableSpoolFileIsToldOf(t *testing.T) {
	t.Parallel()
	s := &spoolStore{fails: errors.New("the database is away")}
	d := spoolDaemon(t, s)
	spoolUp(t, d, stopOf("a", 1))
	name := filepath.Join(d.Data.Spool(), "00000000000000000000-cut.json")
	must(t, os.WriteFile(name, []byte(`{"key":`), 0o600))
	wantErr(t, "replayed, and nobody was told", d.replaySpool(t.Context()))
	s.fails = nil
	must(t, d.replaySpool(t.Context()))
	place := filepath.Join(d.Data.Spool(), "bad", filepath.Base(name))
	if len(s.told) != 1 || !strings.Contains(s.told[0], "hook_set_aside") || !strings.Contains(s.told[0], place) || !strings.Contains(s.told[0], "delete it") {
		t.Errorf("told %q", s.told)
	}
	equal(t, "recorded", s.keys, []string{"a-1"})
}

// TestHookThatCannotBeAppliedIsSetAside: a hook that the database refuses, and one that cannot be read, hold up no other hook. The operator is
// told where each lies. While the database stores nothing at all, that says nothing about the hook, which waits in the spool.
func TestHookThatCannotBeAppliedIsSetAside(t *testing.T) {
	t.Parallel()
	s := &spoolStore{refuses: "a-1", fails: errors.New("no space left on device")}
	d := spoolDaemon(t, s)
	unread := stopOf("a", 2)
	unread.Body = json.RawMessage(`["not an object"]`)
	spoolUp(t, d, stopOf("a", 1), unread, stopOf("b", 3))
	if err := d.replaySpool(t.Context()); err == nil || len(s.told) > 0 {
		t.Errorf("replayed although nobody can be told: %v, %q", err, s.told)
	}
	s.fails = nil
	if err := d.replaySpool(t.Context()); err != nil || !slices.Equal(s.keys, []string{"b-3"}) {
		t.Errorf("%v; recorded %v", err, s.keys)
	}
	s.told = slices.DeleteFunc(s.told, func(text string) bool { return !strings.HasPrefix(text, "hook_set_aside") })
	if len(s.told) != 2 || !strings.Contains(s.told[0], "a constraint of the database") {
		t.Fatalf("told %q", s.told)
	}
	for i, key := range []string{"a-1", "a-2"} {
		path := filepath.Join(d.Data.Spool(), "bad", key+".json")
		var kept hooks.Envelope
		if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &kept) != nil || kept.Key != key || !strings.Contains(s.told[i], path) || !strings.Contains(s.told[i], "delete it") {
			t.Errorf("%s: %v, told %q", path, err, s.told[i])
		}
	}
}
