package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// TestHandoffCommandIsAnsweredAtThePane: The daemon answers /handoff at the pane: no turn begins and the model hears
// nothing of it. The handoff starts.
func TestHandoffCommandIsAnsweredAtThePane(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		traces := r.recordForkPIDs()
		f := r.recordForks()
		r.start()
		r.installCommand()
		a := r.startSpokenTo()
		working := len(r.agentEvents(a.ID, "agent_working"))
		r.misbehave("fork-hang")
		r.personTypes(a.ID, `/handoff the "parser" isn't done; $(date) `, tmux.Enter)
		r.awaitShown(a.ID, "Handoff 1 started: the document is generated from this session")
		h := r.getHandoff(1)
		if h.Mode != daemon.ModeGenerate || h.Focus != `the "parser" isn't done; $(date)` || h.Reason != "command" || h.AgentID != a.ID {
			t.Errorf("handoff %+v: want the focus as it was typed", h)
		}
		r.awaitFork(traces)
		r.wantComposer(a.ID, "")
		r.personTypes(a.ID, "/handoff", tmux.Enter)
		r.awaitShown(a.ID, "No handoff was started: Handoff already in progress.")
		r.wantComposer(a.ID, "")
		if n := len(r.agentEvents(a.ID, "agent_working")); n != working || r.getAgent(a.ID).State != daemon.Idle {
			t.Errorf("a turn began: %d times, and the agent is %s", n-working, r.getAgent(a.ID).State)
		}
		r.wantTold(a.ID, "Find out why")
		r.cancelHandoff(a.ID, daemon.Generating)

		r.misbehave("")
		r.personTypes(a.ID, "/handoff", tmux.Enter)
		r.await("another handoff", func() (bool, string) { return len(r.handoffsOf(a.ID)) == 2, r.shown(a.ID) })
		h = r.awaitPhase(2, daemon.Completed)
		r.wantTold(a.ID, "Find out why")
		r.wantTold(*h.SuccessorID, h.Ref)
		if asked := f.prompts(); len(asked) != 2 || h.Focus != "" || !strings.Contains(asked[0], `Focus on this:`) || strings.Contains(asked[1], "Focus on this:") {
			t.Errorf("focus %q, asked %q", h.Focus, asked)
		}
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	})
}

// TestPersonsOwnHandoffCommandIsLeftAlone: A person's own command of that name stays theirs. If there is no such
// command, the prompt is the person's too.
func TestPersonsOwnHandoffCommandIsLeftAlone(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.personTypes(a.ID, "/handoff without a file", tmux.Enter)
		r.wantTold(a.ID, "/handoff without a file")
		r.awaitState(a.ID, daemon.Idle)

		const own = "---\ndescription: My own\n---\nWrite a note for $ARGUMENTS.\n"
		path := hooks.SlashPath(r.settingsFile())
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := data.WriteFile(path, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		r.personTypes(a.ID, "/handoff to my colleague", tmux.Enter)
		r.wantTold(a.ID, "/handoff without a file", "/handoff to my colleague")
		r.awaitState(a.ID, daemon.Idle)
		r.wantHandoffs(a.ID, 0)
		if got := r.readFile(path); got != own {
			t.Errorf("the person's command is now %q", got)
		}
	})
}

// TestHandoffOfAnAgentToldNothingNeedsForce: An agent to which nobody has said a word has nothing to hand off. This
// check comes last, and Force overrides it.
func TestHandoffOfAnAgentToldNothingNeedsForce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		ask := func(a daemon.Agent, in daemon.HandoffRequest) error {
			_, err := r.client.RequestHandoff(t.Context(), a.ID, in)
			return err
		}
		a, bare := r.startAgent(con), r.startAgent("")
		for _, mode := range []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate} {
			err := ask(a, daemon.HandoffRequest{Mode: mode})
			wantError(t, err, daemon.KindInvalid, "Nothing to hand off (no messages yet)")
			wantCode(t, err, "nothing_to_hand_off")
		}
		if list := r.handoffsOf(a.ID); len(list) != 0 {
			t.Errorf("a refused handoff left %+v", list)
		}
		wantError(t, ask(bare, daemon.HandoffRequest{}), daemon.KindInvalid, "Agent has no persona")
		gone, end := r.startPaneless()
		r.assignPersona(gone.ID, con)
		wantError(t, ask(gone, daemon.HandoffRequest{}), daemon.KindInvalid, "Agent has no tmux pane")
		end()
		r.awaitState(gone.ID, daemon.Ended)
		wantError(t, ask(gone, daemon.HandoffRequest{}), daemon.KindInvalid, "Agent is not active")

		r.misbehave("think=1m")
		if err := ask(a, daemon.HandoffRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		wantError(t, ask(a, daemon.HandoffRequest{}), daemon.KindConflict, "Handoff already in progress")
		r.misbehave("")
		h := r.handoffsOf(a.ID)[0]
		r.awaitPhase(h.ID, daemon.Completed)
	})
}
