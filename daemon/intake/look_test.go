package intake

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
)

// fileStore is a database. While a hook's rows are locked in it a file appears or goes.
type fileStore struct {
	daemon.Store
	handoff      daemon.Handoff
	locked, over func() // called when a transaction has locked its rows, and when it has ended
	wrote        int    // transactions that were committed
}

func (s *fileStore) RecordHook(_ context.Context, _ daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	s.locked()
	defer s.over()
	hf := s.handoff
	a := daemon.Agent{ID: 1, AgentPane: daemon.AgentPane{PID: 7}, Managed: true, Persona: &hf.Persona, State: daemon.Working}
	out := decide(daemon.HookTx{HookID: 3, Agent: &a, Handoff: &hf})
	if out.Undone != nil {
		return daemon.HookResult{}, errors.Join(errors.New("hook"), out.Undone)
	}
	s.wrote++
	s.handoff = hf
	return daemon.HookResult{HookID: 3, Applied: out.Applied, Output: out.Output}, nil
}

// While rows are locked nobody looks at the file system, which may hang. So a file that appears or goes meanwhile changes no
// decision.
func TestHookDecidesFromWhatWasSeenBeforeItsTransaction(t *testing.T) {
	t.Parallel()
	write := func(path string) {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("text"), 0o600)))
	}
	remove := func(path string) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	handoff := daemon.Handoff{ID: 5, Persona: "ana", Phase: daemon.AwaitingDocument, Confirmed: true}
	for _, there := range []bool{true, false} {
		for _, c := range []struct {
			name, event, body string
			handoff           func(*daemon.Handoff)
			yes               func(s *fileStore, out json.RawMessage) bool
		}{
			{"background tasks", hooks.Stop, `{"background_tasks":[{"id":"x"}]}`, func(*daemon.Handoff) {},
				func(s *fileStore, _ json.RawMessage) bool { return s.handoff.StopHook != 0 }},
			{"queued instruction", hooks.Stop, `{}`, func(h *daemon.Handoff) { h.PromptQueue = true },
				func(s *fileStore, _ json.RawMessage) bool { return s.handoff.StopHook != 0 }},
			{"permission", hooks.PermissionRequest, "", func(h *daemon.Handoff) { h.FilePath = "/elsewhere" },
				func(_ *fileStore, out json.RawMessage) bool { return out != nil }},
		} {
			dir := data.At(t.TempDir())
			doc := filepath.Join(dir.Handoffs(handoff.Persona), "doc.md")
			before, meanwhile := write, remove
			if !there {
				before, meanwhile = remove, write
			}
			before(doc)
			s := &fileStore{handoff: handoff, locked: func() { meanwhile(doc) }, over: func() { before(doc) }}
			s.handoff.FilePath = doc
			c.handoff(&s.handoff)
			d := New(engine.Config{Host: "h", Store: s, Data: dir, Log: slog.New(slog.DiscardHandler)})
			body := c.body
			if body == "" {
				b := value(json.Marshal(map[string]any{"tool_name": "Read", "tool_input": map[string]string{"file_path": doc}}))(t)
				body = string(b)
			}
			env := hooks.Envelope{Key: "k", Event: c.event, AgentPID: 7, Launch: "secret", Body: json.RawMessage(body)}
			out, cmd, err := d.applyHook(t.Context(), env, claim{pid: env.AgentPID}, false)
			if err != nil || cmd != nil {
				t.Fatal(cmd, err)
			}
			if got := c.yes(s, out); got != there || s.wrote != 1 {
				t.Errorf("%s: document there: %t; taken for there: %t, with %d transactions committed", c.name, there, got, s.wrote)
			}
		}
	}
}

// The hook's agent waits for two seconds at most, and looks that hang do not pile up.
func TestLookGivesUpOnAFileSystemThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)})
		mended, hanging := make(chan struct{}), new(atomic.Int64)
		for range 2 * sight.FileLooks {
			began := time.Now()
			if d.LookAt(t.Context(), "/hung", func() bool { hanging.Add(1); <-mended; return true }) {
				t.Error("a look that hangs has found something")
			}
			equal(t, "a look took", time.Since(began), sight.LookTimeout)
		}
		equal(t, "looks that hang at once", int(hanging.Load()), sight.FileLooks)
		close(mended)
		synctest.Wait()
		if !d.LookAt(t.Context(), "/mended", func() bool { return true }) {
			t.Error("after the file system was mended nobody may look")
		}
	})
}
