//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// TestClaudeHoldsTheFirstText: the person's own hook of SessionStart takes much longer than ack_timeout. Until it ends, the session keeps
// the briefing that was typed to it and shows no sign of it. The briefing is waited for, and given once.
func TestClaudeHoldsTheFirstText(t *testing.T) {
	t.Parallel()
	const ack = 3 * time.Second
	r := newClaudeRig(t, obeys)
	r.cfg.Settings.Handoff.AckTimeout = ack
	flag := filepath.Join(r.home.Dir, "slow")
	writeSettings(t, filepath.Join(r.home.ConfigDir, "settings.json"), hooks.SessionStart, "if test -e '"+flag+"'; then sleep 12; fi")
	r.start()
	a := r.startAgent(con)
	r.talk(a.ID, "some work")
	must(t, os.WriteFile(flag, nil, 0o600))
	id := r.requestHandoff(a.ID) // only the successor's start is slow
	h := r.awaitPhase(id, daemon.Briefing)
	typed, next := time.Now(), *h.SuccessorID
	r.awaitShown(next, "running SessionStart hooks")
	r.awaitPhase(id, daemon.Completed)
	if took := time.Since(typed); took < 2*ack {
		t.Errorf("the briefing was taken after %v, before the hook's end", took)
	}
	r.awaitModelAsked(h.Ref)
	r.awaitState(next, daemon.Idle)
	if told := r.heard(next, h.Ref); len(told) != 1 {
		t.Errorf("the successor was told its briefing %d times: %q", len(told), told)
	}
	for _, dl := range r.deliveries(next) {
		if dl.TypedAgain || dl.Verdict == nil || *dl.Verdict != daemon.Submitted {
			t.Errorf("delivery %+v", dl)
		}
	}
}
