package stories

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
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

// TestAttachThatIsRefused: an agent of another host, and one that has ended.
func TestAttachThatIsRefused(t *testing.T) {
	storyOfTwo(t, func(t *testing.T, north, south *rig) {
		north.start()
		south.start()
		a := north.startAgent("")
		attach := func(said string) {
			t.Helper()
			s := sit(south, false, "agent", "attach", fmt.Sprint(a.ID))
			s.wantExit(commands.ExitFailed)
			s.awaitPrinted(said, 1)
		}
		attach(fmt.Sprintf("agent %d is on host north: run `understudy agent attach %[1]d", a.ID))
		north.stopAgent(a.ID, true)
		north.awaitState(a.ID, daemon.Ended)
		attach("has ended: open its session again with `understudy agent resume")
	})
}
