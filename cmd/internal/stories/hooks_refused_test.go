package stories

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// hooksSetAside lists the hooks that the daemon has set aside for a person.
func hooksSetAside(r *rig) []string {
	r.t.Helper()
	list, err := filepath.Glob(filepath.Join(r.dir.Spool(), "bad", "*.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// TestHookThatCannotBeAppliedIsSetAside: The daemon starts, sets the hook aside, tells the operator, and applies the
// hooks of the other agents.
func TestHookThatCannotBeAppliedIsSetAside(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var poison atomic.Value // its key
		poison.Store("")
		r.bendWith(&bend{hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
			if in.Key == poison.Load() {
				return daemon.HookResult{}, errors.New("a constraint of the database")
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		refused, unread := newHook(r, a.ID, "UserPromptSubmit", nil), newHook(r, a.ID, "Stop", nil)
		unread.Body = json.RawMessage(`["not an object"]`)
		work, stop := newHook(r, a.ID, "UserPromptSubmit", map[string]any{"prompt": "x"}), newHook(r, a.ID, "Stop", nil)
		r.halt()

		poison.Store(refused.Key)
		spoolHooks(r, refused, unread, work, stop)
		r.start() // The first assertion: it starts.
		r.await("the other hooks applied", func() (bool, string) { return len(r.agentEvents(a.ID, "agent_working")) == 1, r.report() })
		r.awaitState(a.ID, daemon.Idle)
		if n := countSpooled(r); n != 0 {
			t.Errorf("%d hooks are still spooled", n)
		}
		bad, told := hooksSetAside(r), messages(r, "hook_set_aside")
		if len(bad) != 2 || len(told) != 2 {
			t.Fatalf("set aside %v, told %q: want two", bad, told)
		}
		for i, message := range told {
			if !strings.Contains(message, bad[i]) || !strings.Contains(message, "delete it") {
				t.Errorf("alert %q: want it to name %s and what to do", message, bad[i])
			}
		}
		if !strings.Contains(told[0], "a constraint of the database") {
			t.Errorf("alert %q does not say why", told[0])
		}
		b, err := os.ReadFile(bad[0])
		var kept hooks.Envelope
		if err != nil || json.Unmarshal(b, &kept) != nil || kept.Key != refused.Key {
			t.Errorf("%s: %v: %.200q: want the hook", bad[0], err, b)
		}
		r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	})
}

// TestHookIsKeptWhileTheDatabaseIsFull: A database that can store nothing at all says nothing about the hook. The
// daemon keeps the hook and applies it later.
func TestHookIsKeptWhileTheDatabaseIsFull(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var full atomic.Bool
		var tries atomic.Int64
		errFull := errors.New("no space left on device")
		r.bendWith(&bend{
			hook: func(_ daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
				if full.Load() {
					return daemon.HookResult{}, errFull
				}
				return do()
			},
			commit: func(_ *daemon.Change, do func() error) error {
				if full.Load() {
					tries.Add(1)
					return errFull
				}
				return do()
			},
		}).start()
		a := r.startAgent("")
		env := newHook(r, a.ID, "UserPromptSubmit", map[string]any{"prompt": "x"})
		full.Store(true)
		spoolHooks(r, env)
		r.await("two attempts", func() (bool, string) { return tries.Load() >= 2, "" })
		full.Store(false)
		awaitSpooled(r, 0)
		if n := len(r.agentEvents(a.ID, "agent_working")); n != 1 || len(hooksSetAside(r)) != 0 {
			t.Errorf("the hook was applied %d times, set aside %v: want it applied once", n, hooksSetAside(r))
		}
	})
}
