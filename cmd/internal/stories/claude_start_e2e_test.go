//go:build e2e

package stories

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/sight"
)

// answerAs takes the choice whose label begins so.
func (r *claudeRig) answerAs(agentID int64, asks, choice string) {
	r.t.Helper()
	r.awaitState(agentID, daemon.Waiting)
	var d sight.Dialog
	var got daemon.DialogAnswer
	var err error
	r.awaitEvery(tickOfScreens, "the dialog "+asks, func() (bool, string) {
		if d, err = r.client.Dialog(r.t.Context(), agentID); err != nil || d.Name != asks {
			return false, fmt.Sprintf("%+v %v", d, err)
		}
		number := 1 + slices.IndexFunc(d.Choices, func(c sight.DialogChoice) bool { return strings.HasPrefix(c.Label, choice) })
		got, err = choose(r.rig, agentID, d.ID, number)
		// The CLI may still draw it anew, for a terminal of another size: before the choice, or before the key.
		return !isCode(err, daemon.CodeDialogChanged) && (err != nil || got.State != daemon.DialogNotPressed), fmt.Sprint(err)
	})
	if err != nil || got.State != daemon.DialogGone && got.State != daemon.DialogOther {
		r.t.Fatalf("%s: %+v, %+v %v", asks, d, got, err)
	}
	r.t.Logf("%s: %s after %s", asks, got.Words(), got.EndedAt.Sub(got.At))
}

// isBriefedSlowly: the person's own hook of SessionStart takes much longer than ack_timeout. Until it ends, the session keeps the
// briefing that was typed to it and shows no sign of it. The briefing is waited for, and given once.
func (r *claudeRig) isBriefedSlowly(id int64) daemon.Handoff {
	r.t.Helper()
	h := r.awaitPhase(id, daemon.Briefing)
	next := *h.SuccessorID
	r.awaitShown(next, "running SessionStart hooks")
	r.wantStays(2*shortAck, "the briefing was taken before the hook's end", func() bool { return r.getHandoff(id).Phase == daemon.Briefing })
	must(r.t, os.Remove(r.obstacle()))
	h = r.awaitPhase(id, daemon.Completed)
	for _, dl := range r.deliveries(next) {
		if dl.TypedAgain || dl.Verdict == nil || *dl.Verdict != daemon.Submitted {
			r.t.Errorf("delivery %+v", dl)
		}
	}
	return h
}
