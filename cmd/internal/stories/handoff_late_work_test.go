package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// oneMore is what a person asks of an agent that writes, or has written, its document.
const oneMore = "one more thing"

// awaitDecision waits until the handoff waits for a person's decision, because its document may not mention new work.
// It fails unless the note says so and the agent goes on.
func (r *rig) awaitDecision(id, agentID int64) daemon.Handoff {
	r.t.Helper()
	h := r.awaitNote(id, "given work that its document may not mention")
	r.awaitAlert(id, "handoff_waiting")
	if h.Phase != daemon.ShuttingDown || !strings.Contains(h.Note, "understudy agent stop") || !strings.Contains(h.Note, "understudy handoff retry") {
		r.t.Errorf("%s, note %q: want shutting_down and what to do", h.Phase, h.Note)
	}
	if a := r.getAgent(agentID); a.EndedAt != nil || r.agentRow(agentID).StopAskedAt != nil {
		r.t.Errorf("outgoing agent %+v: want it to go on", a)
	}
	return h
}

// endByDecision has the person end the agent without another document.
func (r *rig) endByDecision(h daemon.Handoff) {
	r.t.Helper()
	r.stopAgent(h.AgentID, false)
	r.awaitPhase(h.ID, daemon.Completed)
}

// TestWorkAfterTheDocumentWaitsForADecision: Work that is given after the verified Stop is not lost. The handoff
// waits, says so, and goes on when the operator ends the agent.
func TestWorkAfterTheDocumentWaitsForADecision(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		h, release := r.handOffBehindTasks(a.ID)
		r.personTypes(a.ID, oneMore, tmux.Enter)
		r.awaitShown(a.ID, "Noted: “one more thing”")
		release()
		r.endByDecision(r.awaitDecision(h.ID, a.ID))
	})
}

// TestPromptQueuedWhileWritingWaitsForADecision: The prompt becomes a turn that no hook reports. The handoff waits. A
// retry has the agent write another document, and the daemon records it in place of the first.
func TestPromptQueuedWhileWritingWaitsForADecision(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		id := r.handOffWhileWriting(a.ID)
		r.personTypes(a.ID, oneMore, tmux.Enter)
		r.awaitShown(a.ID, "Queued: "+oneMore)
		r.misbehave("")
		first := r.awaitDecision(id, a.ID)
		r.wantTold(a.ID, first.Ref, oneMore)
		before := r.recordOf(id)

		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, first.Ref, oneMore, h.Ref)
		if h.Ref == first.Ref || !r.recordOf(id).At.After(before.At) {
			t.Errorf("ref %s after %s, recorded at %s after %s: want another document", h.Ref, first.Ref, r.recordOf(id).At, before.At)
		}
		r.wantKinds(a.ID, daemon.KindInstruction, daemon.KindInstruction, daemon.KindExit)
		r.wantRetryRefused(id)
	})
}

// wantRetryRefused fails unless a retry is refused: the handoff has neither failed nor waits for a decision.
func (r *rig) wantRetryRefused(id int64) {
	r.t.Helper()
	_, err := r.client.RetryHandoff(r.t.Context(), id, "")
	wantCode(r.t, err, "handoff_not_failed")
}

// TestPromptQueuedBeforeTheInstructionWaitsForADecision: The prompt was queued before the instruction, behind the
// turn whose Stop the daemon answers with it.
func TestPromptQueuedBeforeTheInstructionWaitsForADecision(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "long work")
		id := r.requestHandoff(a.ID)
		h := r.awaitNote(id, noteBusyPart)
		r.personTypes(a.ID, oneMore, tmux.Enter)
		r.awaitShown(a.ID, "Queued: "+oneMore)
		r.wantRetryRefused(id)
		release()
		r.awaitDecision(id, a.ID)
		r.wantTold(a.ID, "long work", h.Ref, oneMore)
		r.endByDecision(h)
	})
}

// awaitRow waits until ok returns true for the agent's row, with the fields that the API does not show.
func (r *rig) awaitRow(agentID int64, what string, ok func(daemon.Agent) bool) {
	r.t.Helper()
	r.await(what, func() (bool, string) { return ok(r.agentRow(agentID)), "" })
}

// TestMessageDuringTheDocumentsTurnGoesToTheSuccessor: A message that waits for the end of the document's turn is not
// typed to the outgoing agent after the record.
func TestMessageDuringTheDocumentsTurnGoesToTheSuccessor(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		id := r.handOffWhileWriting(a.ID)
		dl := r.sendMessage(a.ID, oneMore)
		r.misbehave("")
		h := r.awaitPhase(id, daemon.Completed)
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.wantTold(a.ID, instructed)
		r.wantTold(*h.SuccessorID, briefed, oneMore)
	})
}
