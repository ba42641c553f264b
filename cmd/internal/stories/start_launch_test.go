package stories

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/tmux"
)

// TestPersonaIsRefusedDuringLaunch: The persona is given while the launch files are being written.
func TestPersonaIsRefusedDuringLaunch(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g, registers := newGate(t), newGate(t)
		r.bendWith(&bend{
			spawn: func(_ context.Context, do func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
				g.pass()
				return do()
			},
			hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
				if in.Event == "SessionStart" {
					registers.pass()
				}
				return do()
			},
		}).start()
		a := r.createAgent(agents.NewAgent{Cwd: r.work})
		g.await(t)
		_, err := r.client.AssignPersona(t.Context(), a.ID, con)
		wantCode(t, err, "agent_starting")
		g.goOn()
		registers.await(t) // It was launched without a persona.
		r.awaitAgent(a.ID, "a pane", func(a daemon.Agent) bool { return a.Pane != nil })
		_, err = r.client.AssignPersona(t.Context(), a.ID, con)
		wantCode(t, err, "agent_starting")
		registers.goOn()
		r.awaitState(a.ID, daemon.Idle)

		// A skill that was given later is in place once it was typed. A session that goes on proves nothing.
		release := r.holdTurn(a.ID, "long work")
		r.assignPersona(a.ID, con)
		r.sendHook(r.newHook(a.ID, "SessionStart", map[string]any{"source": "compact"}))
		if now := r.getAgent(a.ID); now.SkillInjectedAt != nil {
			t.Error("skill injected before it was typed")
		}
		release()
		r.awaitAgent(a.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil })
		r.wantTold(a.ID, "long work", "you play the persona "+con)
	})
}

// TestFailedLaunchRemovesItsFiles: They hold the agent's launch secret.
func TestFailedLaunchRemovesItsFiles(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.bendWith(&bend{spawn: func(context.Context, func() (tmux.PaneInfo, error)) (tmux.PaneInfo, error) {
			return tmux.PaneInfo{}, errAway
		}}).start()
		a := r.createAgent(agents.NewAgent{Cwd: r.work, Persona: con})
		now := r.awaitState(a.ID, daemon.Ended)
		if !strings.Contains(*now.EndReason, errAway.Error()) {
			t.Errorf("the agent ended by %q", *now.EndReason)
		}
		r.await("launch files gone", func() (bool, string) {
			_, err := os.Stat(r.dir.Launch(a.ID))
			return os.IsNotExist(err), "still there"
		})
	})
}

func TestSessionIsOpenedOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var both sync.WaitGroup // Both requests are checked before either of them is written.
		both.Add(2)
		var n atomic.Int64
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewAgent != nil && c.NewAgent.Resume != "" && n.Add(1) <= 2 {
				both.Done()
				both.Wait()
			}
			return do()
		}}).start()
		a := r.startAgent(con)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "some work").ID, daemon.Submitted)
		r.awaitState(a.ID, daemon.Idle)
		r.stopAgent(a.ID, false)
		r.awaitState(a.ID, daemon.Ended)
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.client.ResumeAgent(t.Context(), a.ID)
				results <- err
			}()
		}
		first, second := <-results, <-results
		if first == nil {
			first, second = second, first
		}
		wantCode(t, first, "agent_resumed")
		if second != nil {
			t.Fatalf("both requests were refused: %v", second)
		}
		now := r.awaitState(r.newestAgent().ID, daemon.Idle)
		if *now.SessionID != *a.SessionID || len(r.successors(a.ID)) != 1 {
			t.Errorf("agents %+v: want one with the session", r.successors(a.ID))
		}
		_, err := r.client.ResumeAgent(t.Context(), a.ID)
		wantCode(t, err, "agent_resumed")
	})
}
