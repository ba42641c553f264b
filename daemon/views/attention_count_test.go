package views

import (
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestCountOfWhatNeedsAPerson: agents that died together count as many, and a finished turn counts only where nothing else does.
func TestCountOfWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	if got := (&Overview{At: noon, Agents: []daemon.Agent{seen(1, nil)}}).Count(); got.Text != "" || got.Parts == nil || len(got.Parts) != 0 {
		t.Errorf("nothing needs a person: %+v", got)
	}
	waits := func(a *daemon.Agent) { a.State, a.WaitsFor = daemon.Waiting, "more time" }
	unread := func(a *daemon.Agent) { a.Unread = true }
	together := func(a *daemon.Agent) { over(time.Minute, "tmux_server_gone")(a); a.EndCause = "tmux 1" }
	o := Overview{
		At:       noon,
		Agents:   []daemon.Agent{seen(1, unread), seen(2, waits), seen(3, func(a *daemon.Agent) { unread(a); waits(a) }), seen(4, unread)},
		Ended:    []daemon.Agent{seen(5, together), seen(6, together), seen(7, over(time.Minute, "process_gone"))},
		Handoffs: []daemon.Handoff{failed(time.Minute, nil)},
	}
	got := o.Count()
	equal(t, "got.Text", got.Text, "2 wait, 1 failed, 3 died, 1 finished")
	equal(t, "parts", got.Parts[0], AttentionPart{NeedsAnswer, 2, "2 wait"})
}

// TestEachKindOfAttentionIsCounted: no kind is missing in the status line.
func TestEachKindOfAttentionIsCounted(t *testing.T) {
	t.Parallel()
	for _, kind := range []AttentionKind{
		NeedsAnswer, NeedsRetry, NeedsDecision, NeedsCare, NeedsChoice, NeedsLook, NeedsHandoff, NeedsBudget, NeedsHeir, NeedsApproval, NeedsReading,
	} {
		if !slices.ContainsFunc(partWords, func(w partWord) bool { return w.kind == kind }) {
			t.Errorf("%s has no words", kind)
		}
	}
}
