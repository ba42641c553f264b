package stories

import (
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

// killed ends the agent's process, which nobody asked for, and waits until the daemon has seen it.
func (r *rig) killed(id int64) daemon.Agent {
	r.t.Helper()
	r.killAgent(id)
	return r.awaitState(id, daemon.Ended)
}

// needs lists what needs a person: the kind and the id of each.
func (r *rig) needs() (kinds []views.AttentionKind, ids []int64) {
	r.t.Helper()
	list, err := r.client.Attention(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range list {
		kinds, ids = append(kinds, list[i].Kind), append(ids, list[i].ID)
	}
	return kinds, ids
}

// TestDismissAnAgentThatDied: what waits for an answer comes before an agent that died earlier. Once dismissed it needs nobody, across
// a restart too, is told once, and can still be resumed.
func TestDismissAnAgentThatDied(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Permissions.Hold = 10 * time.Minute
		r.start()
		a, mute, asks := r.startWorked(con), r.startAgent(""), r.startAgent("reviewer-ada-1")
		r.killed(a.ID)
		r.killed(mute.ID)
		r.askToDeploy(asks.ID)
		kinds, ids := r.needs()
		if want := []int64{asks.ID, a.ID, mute.ID}; !slices.Equal(ids, want) || kinds[0] != views.NeedsAnswer {
			t.Errorf("in need: %v %d, want agents %d", kinds, ids, want)
		}
		_, err := r.client.DismissAgent(t.Context(), asks.ID)
		wantCode(t, err, daemon.CodeAgentActive)
		var first daemon.Agent
		for i := range 2 {
			done, err := r.client.DismissAgents(t.Context(), []int64{mute.ID, a.ID})
			if err != nil || len(done) != 2 || done[0].ID != a.ID || done[0].DismissedAt == nil || done[1].DismissedAt == nil {
				t.Fatalf("dismissed: %+v %v", done, err)
			}
			if i == 0 {
				first = done[0]
			} else if !done[0].DismissedAt.Equal(*first.DismissedAt) {
				t.Error("the second call dismisses again")
			}
		}
		r.halt()
		r.start()
		if _, ids := r.needs(); !slices.Equal(ids, []int64{asks.ID}) {
			t.Errorf("in need after the dismissal: %d", ids)
		}
		for _, id := range []int64{a.ID, mute.ID} {
			if n := len(r.agentEvents(id, "agent_dismissed")); n != 1 {
				t.Errorf("the dismissal of agent %d is told %d times", id, n)
			}
		}
		if done, err := r.client.ResumeAgents(t.Context()); err != nil || len(done) != 0 {
			t.Errorf("all are resumed: %+v %v", done, err)
		}
		if _, err := r.client.ResumeAgent(t.Context(), a.ID); err != nil {
			t.Error(err)
		}
		r.wantResumed(a)
	})
}

// TestResumedAgentShowsItsSession: before its first turn, an agent that opens a session again shows what the session has said, how
// full it is, in which mode it works, and that the operator has not seen its last turn.
func TestResumedAgentShowsItsSession(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		old := r.startWorked(con)
		r.fillContext(old.ID, 120_000)
		r.killed(old.ID)
		if old = r.getAgent(old.ID); old.LastMessage == "" || old.SessionMode == "" || !old.Unread {
			t.Fatalf("the agent before: %+v", old)
		}
		if _, err := r.client.ResumeAgent(t.Context(), old.ID); err != nil {
			t.Fatal(err)
		}
		now := r.wantResumed(old)
		if now.LastMessage != old.LastMessage || now.SessionMode != old.SessionMode || !now.Unread || now.FinishedAt == nil || !now.FinishedAt.Equal(*old.FinishedAt) {
			t.Errorf("said %q in mode %q, unread %t; before %q in mode %q", now.LastMessage, now.SessionMode, now.Unread, old.LastMessage, old.SessionMode)
		}
		if now.Context == nil || now.Context.Tokens < 120_000 || now.Context.Percent == nil {
			t.Errorf("context %+v, before %+v", now.Context, old.Context)
		}
		if err := r.client.SeeAgent(t.Context(), &now); err != nil || r.getAgent(now.ID).Unread {
			t.Errorf("it stays unread: %v", err)
		}
	})
}
