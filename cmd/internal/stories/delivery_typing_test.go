package stories

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestInterruptedTypingLooksBeforeItTypesAgain: The daemon looks at the screen before it types again. Otherwise its
// Enter could approve a tool call, in a dialog that was opened meanwhile.
func TestInterruptedTypingLooksBeforeItTypesAgain(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{false, true} {
		name := map[bool]string{false: "dialog stays", true: "dialog answered"}[answered]
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				g := newGate(t)
				// A daemon that is killed in its first paste leaves the same.
				r.bendWith(&bend{paste: func(_ context.Context, text string, do func() error) error {
					if strings.Contains(text, "carry on") && g.pass() {
						return errAway
					}
					return do()
				}})
				if !answered {
					r.cfg.Settings.Handoff.AckTimeout = 1500 * time.Millisecond
				}
				r.start()
				a := r.startAgent("")
				dl := r.sendMessage(a.ID, "carry on")
				g.await(t)
				r.openDialog(a.ID)
				g.goOn()
				if answered {
					r.awaitState(a.ID, daemon.Waiting)
					r.personPresses(a.ID, tmux.Escape)
					r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
					r.wantTold(a.ID, ownWork, "carry on")
				} else {
					got := r.awaitVerdict(a.ID, dl.ID, daemon.Unconfirmed)
					if !strings.Contains(got.Evidence, "composer takes nothing") {
						t.Errorf("the verdict's evidence is %q", got.Evidence)
					}
					r.awaitShown(a.ID, "Do you want to proceed?")
					r.wantTold(a.ID, ownWork)
				}
				r.wantNothingApproved(a.ID)
			})
		})
	}
}

// TestLateExitAnswerIsNotGiven: The daemon is about to answer the runtime's question whether to exit. Something else
// stands in the pane by then.
func TestLateExitAnswerIsNotGiven(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		var looks atomic.Int64
		r.bendWith(&bend{
			commit: func(c *daemon.Change, do func() error) error {
				err := do()
				if len(c.Agents) == 1 && c.Agents[0].StopStage == daemon.StopAnswer && err == nil {
					g.pass() // The answer is the next thing to come.
				}
				return err
			},
			capture: func(do func() (map[string]string, error)) (map[string]string, error) {
				defer looks.Add(1)
				return do()
			},
		}).start()
		a := r.startAgent("")
		r.misbehave("exit-dialog")
		r.stopAgent(a.ID, false)
		g.await(t)
		r.personPresses(a.ID, tmux.Escape)
		r.wantComposerSoon(a.ID)
		r.openDialog(a.ID)
		before := looks.Load()
		g.goOn()
		r.await("a look at the screen", func() (bool, string) { return looks.Load() > before, "" })
		// The next rung comes after this one.
		r.stopAgent(a.ID, true)
		r.awaitState(a.ID, daemon.Ended)
		r.wantStopStages(a.ID, daemon.StopAsked, daemon.StopAnswer, daemon.StopTerm)
		r.wantNothingApproved(a.ID)
	})
}

// wantComposerSoon waits until no dialog is open.
func (r *rig) wantComposerSoon(agentID int64) {
	r.t.Helper()
	r.await("a composer without a dialog", func() (bool, string) {
		shown := r.shown(agentID)
		return !strings.Contains(shown, "Exit and stop tasks"), shown
	})
}

// TestUnreadyComposerIsLookedAtRarely: While a composer is not ready, the daemon looks at it rarely. The agent's note
// says why its text is not typed.
func TestUnreadyComposerIsLookedAtRarely(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		var blank atomic.Bool
		var looks atomic.Int64
		r.bendWith(&bend{capture: func(do func() (map[string]string, error)) (map[string]string, error) {
			looks.Add(1)
			shown, err := do()
			if blank.Load() {
				for pane := range shown {
					shown[pane] = ""
				}
			}
			return shown, err
		}}).start()
		a := r.startAgent("")
		blank.Store(true)
		looks.Store(0)
		dl := r.sendMessage(a.ID, "hello")
		now := r.awaitAgent(a.ID, "a note", func(a daemon.Agent) bool { return a.Note != "" })
		if n := looks.Load(); n > 40 || !strings.Contains(now.Note, "composer is not ready") {
			t.Errorf("%d looks until note %q, want at most 40", n, now.Note)
		}
		if age := time.Since(dl.CreatedAt); age < 3*time.Second {
			t.Errorf("the note came after %s, too soon: a composer is often not ready for a moment", age)
		}
		blank.Store(false)
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		if now := r.getAgent(a.ID); now.Note != "" {
			t.Errorf("the agent still has the note %q after its delivery", now.Note)
		}
	})
}
