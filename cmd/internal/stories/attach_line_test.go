package stories

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestLineOfAnAttachedPane: who looks at an agent's pane sees who it is and what it does. Nothing is noted on a pane at which
// nobody looks, until somebody is about to.
func TestLineOfAnAttachedPane(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, b := r.startAgent(con), r.startAgent("")
		r.memory.term.LookAt(r.pane(a.ID).Ref)
		wantLine := func(of daemon.Agent, who, state string, tone tmux.Tone) {
			t.Helper()
			r.await("the line "+state, func() (bool, string) {
				l := r.memory.term.Line(r.pane(of.ID).Ref)
				return l.Who == who && l.State == state && l.Tone == tone, l.Who + ": " + l.State
			})
		}
		wantLine(a, "1 "+con, "idle", tmux.Plain)
		if _, err := r.client.RenameAgent(t.Context(), a.ID, "api fix"); err != nil {
			t.Fatal(err)
		}
		wantLine(a, "1 api fix · "+con, "idle", tmux.Plain)
		r.misbehave("think=1h")
		r.personTypes(a.ID, "Find out why", tmux.Enter)
		wantLine(a, "1 api fix · "+con, "works", tmux.Working)
		if l := r.memory.term.Line(r.pane(b.ID).Ref); l != (tmux.Line{}) {
			t.Errorf("nobody looks at agent %d, and its pane has %+v", b.ID, l)
		}
		if _, err := r.client.Screen(t.Context(), b.ID, "text"); err != nil { // as the command attach does
			t.Fatal(err)
		}
		wantLine(b, "2 "+b.Name, "idle", tmux.Plain)
	})
}

// TestLineOfASuccessor: the line follows the person to the successor, with its generation.
func TestLineOfASuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
		next := r.getAgent(*h.SuccessorID)
		r.memory.term.LookAt(r.pane(next.ID).Ref)
		r.await("the line of the successor", func() (bool, string) {
			l := r.memory.term.Line(r.pane(next.ID).Ref)
			return l.Who == "2 "+con+" · generation 2", l.Who
		})
	})
}
