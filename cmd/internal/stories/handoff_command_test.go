package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestHandoffCommandIsAnsweredAtThePane: The daemon answers /handoff at the pane, when the document is recorded: no turn
// begins and the model hears nothing of it.
func TestHandoffCommandIsAnsweredAtThePane(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		traces := recordForkPIDs(r)
		f := recordForks(r)
		r.start()
		installCommand(r)
		a := startSpokenTo(r)
		working := len(r.agentEvents(a.ID, "agent_working"))
		r.misbehave("fork-hang")
		r.personTypes(a.ID, `/handoff the "parser" isn't done; $(date) `, tmux.Enter)
		awaitFork(r, traces)
		h := r.getHandoff(1)
		if h.Mode != daemon.ModeGenerate || h.Focus != `the "parser" isn't done; $(date)` || h.Reason != "command" || h.AgentID != a.ID {
			t.Errorf("handoff %+v: want the focus as it was typed", h)
		}
		cancelHandoff(r, a.ID, daemon.Generating)
		r.awaitShown(a.ID, "Handoff 1 was cancelled: this session goes on.")
		wantComposer(r, a.ID, "")
		if n := len(r.agentEvents(a.ID, "agent_working")); n != working || r.getAgent(a.ID).State != daemon.Idle {
			t.Errorf("a turn began: %d times, and the agent is %s", n-working, r.getAgent(a.ID).State)
		}
		r.wantTold(a.ID, "Find out why")

		r.misbehave("")
		r.personTypes(a.ID, "/handoff", tmux.Enter)
		r.await("another handoff", func() (bool, string) { return len(handoffsOf(r, a.ID)) == 2, r.shown(a.ID) })
		h = r.awaitPhase(2, daemon.Completed)
		r.wantTold(a.ID, "Find out why")
		r.wantTold(*h.SuccessorID, h.Ref)
		if asked := f.prompts(); len(asked) != 2 || h.Focus != "" || !strings.Contains(asked[0], `Focus on this:`) || strings.Contains(asked[1], "Focus on this:") {
			t.Errorf("focus %q, asked %q", h.Focus, asked)
		}
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
		want := "Handoff 2: the document is recorded. This session ends now, and its successor takes over in the daemon's tmux: `understudy agent attach developer-con-1`."
		if said := r.readFile(*r.getAgent(a.ID).TranscriptPath); !strings.Contains(said, want) {
			t.Errorf("the person was not told %q:\n%s", want, said)
		}
		next := r.getAgent(*h.SuccessorID)
		want = fmt.Sprintf("%s: Handoff 2 is done, agent %d goes on: understudy agent attach %[2]d", *next.Pane, next.ID)
		r.await("the outcome in the pane", func() (bool, string) {
			told := r.memory.term.Messages()
			return slices.Contains(told, want), strings.Join(told, "\n")
		})
	})
}

// TestEscCancelsTheHandoffOfTheCommand: Esc cancels a handoff while its document is being written, also while no daemon runs. The
// command is back in the composer, no turn has begun, and another /handoff goes through.
func TestEscCancelsTheHandoffOfTheCommand(t *testing.T) {
	for name, down := range map[string]bool{"the daemon runs": false, "no daemon runs": true} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				traces := recordForkPIDs(r)
				r.start()
				installCommand(r)
				a := startSpokenTo(r)
				working := len(r.agentEvents(a.ID, "agent_working"))
				r.misbehave("fork-hang")
				r.personTypes(a.ID, "/handoff the parser", tmux.Enter)
				awaitFork(r, traces)
				if down {
					r.halt()
				}
				r.personPresses(a.ID, tmux.Escape)
				r.await("the command in the composer", func() (bool, string) {
					return strings.Contains(r.shown(a.ID), "> /handoff the parser") || strings.Contains(r.shown(a.ID), "❯ /handoff the parser"), r.shown(a.ID)
				})
				if down {
					awaitSpooled(r, 1)
					r.start()
				}
				h := r.awaitPhase(1, daemon.Cancelled)
				if h.Error == nil || h.Error.Code != daemon.CodeCancelled || h.Error.Message != "Handoff cancelled in the agent's pane" || h.Error.Phase != daemon.Generating {
					t.Errorf("error %+v", h.Error)
				}
				if got := r.awaitState(a.ID, daemon.Idle); len(r.agentEvents(a.ID, "agent_working")) != working {
					t.Errorf("a turn has begun: %+v", got)
				}
				r.wantTold(a.ID, "Find out why")
				r.misbehave("")
				r.personPresses(a.ID, tmux.CtrlU)
				r.personTypes(a.ID, "/handoff", tmux.Enter)
				r.await("another handoff", func() (bool, string) { return len(handoffsOf(r, a.ID)) == 2, r.shown(a.ID) })
				h = r.awaitPhase(2, daemon.Completed)
				r.wantTold(a.ID, "Find out why")
				r.wantTold(*h.SuccessorID, h.Ref)
			})
		})
	}
}

// TestHeldCommandOutlivesTheDaemon: The daemon is replaced while the document is being written. The command waits on, begins no
// second handoff, and tells the result.
func TestHeldCommandOutlivesTheDaemon(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		traces := recordForkPIDs(r)
		r.start()
		installCommand(r)
		a := startSpokenTo(r)
		r.misbehave("fork-hang")
		r.personTypes(a.ID, "/handoff", tmux.Enter)
		awaitFork(r, traces)
		r.halt()
		r.misbehave("")
		r.start()
		h := r.awaitPhase(1, daemon.Completed)
		wantHandoffs(r, a.ID, 1)
		r.wantTold(a.ID, "Find out why")
		r.wantTold(*h.SuccessorID, h.Ref)
		if said := r.readFile(*r.getAgent(a.ID).TranscriptPath); strings.Count(said, `hook:\nHandoff 1: the document is recorded.`) != 1 {
			t.Errorf("the person was not told once:\n%s", said)
		}
	})
}
