package stories

import (
	"context"
	"os"
	"strings"
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
		sendHook(r, newHook(r, a.ID, "SessionStart", map[string]any{"source": "compact"}))
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
