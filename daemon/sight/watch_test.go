package sight

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// The registry has to say the same for a while after the last hook: the runtime rewrites it later than the hook comes.
func TestSettledRegistryCorrectsTheStateOfTheHooks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		state    daemon.AgentState
		registry runtimes.Status
		want     daemon.AgentState
	}{
		{"a Stop, and the registry is late", daemon.Idle, runtimes.StatusBusy, daemon.Working},
		{"a prompt, and the registry is late", daemon.Working, runtimes.StatusIdle, daemon.Idle},
		{"a dialog, and the registry is late", daemon.Waiting, runtimes.StatusBusy, daemon.Working},
		{"a question that a hook answers", daemon.Working, runtimes.StatusWaiting, daemon.Waiting},
		{"Esc in a turn before the reset of a limit", daemon.Working, runtimes.StatusIdle, daemon.Limited},
		{"agreement", daemon.Idle, runtimes.StatusIdle, daemon.Idle},
		{"a status of another version", daemon.Working, "dreaming", daemon.Working},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := runtimes.RegistryPath(dir, 4711)
			wardentest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			wardentest.Must(t, os.WriteFile(path, fmt.Appendf(nil, `{"pid":4711,"sessionId":"s","status":%q}`, tt.registry), 0o600))
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				d := testSight(engine.Config{Environ: []string{"CLAUDE_CONFIG_DIR=" + dir}})
				a := &daemon.Agent{ID: 1, Runtime: "claude", AgentPane: daemon.AgentPane{PID: 4711}, State: tt.state, RegisteredAt: &now}
				if tt.want == daemon.Limited {
					until := now.Add(time.Hour)
					a.Limit = &daemon.Limit{Kind: daemon.LimitUsage, Until: &until, TriedAt: &now}
				}
				d.Look(a)
				time.Sleep(time.Minute) // in the bubble: the registry has said the same for long
				d.Outdate(a.ID)
				if d.Reconcile(a) {
					t.Errorf("right after the hook: %s became %s", tt.state, a.State)
				}
				time.Sleep(Settle)
				if d.Reconcile(a) != (tt.want != tt.state) || a.State != tt.want {
					t.Errorf("%s later: %s, want %s", Settle, a.State, tt.want)
				}
			})
		})
	}
}

// TestQuestionAtALimitIsNotAWait: the runtime has opened a dialog about the limit that the agent has just hit. It counts as a wait only when
// the daemon has not closed it in time.
func TestQuestionAtALimitIsNotAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		d := testSight(engine.Config{
			Environ:  []string{"CLAUDE_CONFIG_DIR=/c"},
			Registry: func(string) ([]byte, error) { return []byte(`{"pid":4711,"sessionId":"s","status":"waiting"}`), nil },
		})
		d.Presence.Begin(now)
		a := &daemon.Agent{ID: 1, Runtime: "claude", AgentPane: daemon.AgentPane{PID: 4711}, State: daemon.Limited, StateAt: now, RegisteredAt: &now, AgentLimit: daemon.AgentLimit{Limit: &daemon.Limit{Kind: daemon.LimitUsage}}}
		d.Look(a)
		for _, want := range []daemon.AgentState{daemon.Limited, daemon.Waiting} {
			for range int(limitAsks/presence.ProveEvery) / 2 {
				time.Sleep(presence.ProveEvery)
				d.Presence.Prove(time.Now())
			}
			if d.Reconcile(a); a.State != want {
				t.Errorf("after %s: %s, want %s", time.Since(now), a.State, want)
			}
		}
	})
}

// TestCopyTakesUpTheTurn: a session that is moved into the background in the middle of a turn is idle for seconds on a busy
// machine before its copy goes on with that turn. The agent has not been interrupted.
func TestCopyTakesUpTheTurn(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]string{
		"the job has no entry yet":          `{"pid":4711,"sessionId":"s","status":"idle","parkedJobId":"j"}`,
		"the job has not taken up the turn": `{"pid":4711,"sessionId":"copy","status":"idle","kind":"bg","jobId":"j"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now, session := time.Now(), "s"
				d := testSight(engine.Config{
					Environ:  []string{"CLAUDE_CONFIG_DIR=/c"},
					Registry: func(string) ([]byte, error) { return []byte(entry), nil },
				})
				a := &daemon.Agent{ID: 1, Runtime: "claude", AgentPane: daemon.AgentPane{PID: 4711}, AgentSession: daemon.AgentSession{SessionID: &session}, State: daemon.Working, RegisteredAt: &now}
				d.Look(a)
				time.Sleep(takeUp - time.Millisecond)
				if d.Reconcile(a) {
					t.Errorf("after a wait that a busy machine explains the agent is %s", a.State)
				}
				time.Sleep(time.Millisecond)
				if d.Reconcile(a); a.State != daemon.Idle {
					t.Errorf("%s without a turn later the agent is %s", takeUp, a.State)
				}
			})
		})
	}
}

// TestMoveIsReadAnew: the daemon stands still for a while after a hook has told of a move. What the registry said before that is not believed.
func TestMoveIsReadAnew(t *testing.T) {
	t.Parallel()
	work, tree, config := t.TempDir(), t.TempDir(), t.TempDir()
	session, at := "S", time.Now()
	path := filepath.Join(config, "projects", "w", session+".jsonl")
	wardentest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}\n"), 0o600)))
	entry := fmt.Appendf(nil, `{"pid":7,"sessionId":%q,"cwd":%q,"status":"idle"}`, session, work)
	d := testSight(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler), Registry: func(string) ([]byte, error) { return entry, nil }})
	a := &daemon.Agent{ID: 3, Host: "h", Runtime: "claude", State: daemon.Idle, AgentPane: daemon.AgentPane{PID: 7}, AgentSession: daemon.AgentSession{Cwd: work, SessionID: &session, TranscriptPath: &path}, RegisteredAt: &at}
	d.memories.Change(a.ID, func(m *sightMemory) {
		m.sighting = sighting{Known: true, Status: runtimes.StatusIdle, dir: tree, Since: at.Add(-time.Minute)}
	})
	if moved, _, err := d.FollowSession(t.Context(), a); moved || err != nil || a.Cwd != work {
		t.Errorf("moved %t to %s: %v", moved, a.Cwd, err)
	}
}

// TestLooksBecomeRarer: what is awaited for minutes is looked at once a second.
func TestLooksBecomeRarer(t *testing.T) {
	t.Parallel()
	const soon = 50 * time.Millisecond
	for waited, want := range map[time.Duration]time.Duration{
		-time.Hour: soon, 0: soon, 400 * time.Millisecond: 100 * time.Millisecond, 3 * time.Second: 750 * time.Millisecond, time.Hour: time.Second,
	} {
		equal(t, fmt.Sprint("after ", waited), Rarer(soon, waited), want)
	}
}
