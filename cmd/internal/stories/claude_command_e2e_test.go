//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// quotedFocus has characters that a shell would interpret.
const quotedFocus = `the parser's "tabs"; $(touch by-a-shell) and so on`

// cancelsForkAfterCd: no hook has told of a /cd when a copy of the session is to write the document. A cancel ends the fork at once. The fork
// leaves nothing behind.
func cancelsForkAfterCd(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	dir := filepath.Join(a.Cwd, "sub")
	must(t, os.Mkdir(dir, 0o700))
	r.personSubmits(a.ID, "/cd "+dir)
	r.awaitAgent(a.ID, "its place", func(now daemon.Agent) bool { return now.Cwd == dir })
	files := r.settledFiles()
	r.holdForks(obeys)
	id := requestGenerate(r.rig, a.ID, "")
	pids := r.awaitFork(0)
	cancelHandoff(r.rig, a.ID, daemon.Generating)
	r.wantNoTrace(id, files, pids)
	return a.ID
}

// cancelsByEsc: a person types /handoff, and presses Esc while the document is being written. The session goes on as it was.
func cancelsByEsc(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	files, forked, had, said := r.settledFiles(), len(r.forkRequests()), len(handoffsOf(r.rig, a.ID)), len(r.requests(a.ID))
	r.holdForks(obeys)
	r.personSubmits(a.ID, "/handoff "+quotedFocus)
	id := r.awaitCommanded(a.ID, had)
	pids := r.awaitFork(forked)
	r.awaitShown(a.ID, "running UserPromptSubmit hook")
	r.personPresses(a.ID, tmux.Escape)
	if h := r.awaitPhase(id, daemon.Cancelled); h.Error == nil || h.Error.Message != "Handoff cancelled in the agent's pane" {
		t.Errorf("error %+v", h.Error)
	}
	r.wantNoTrace(id, files, pids)
	r.awaitShown(a.ID, `/handoff the parser's "tabs"; $(touch by-a-shell) and so on`) // in the composer
	r.personPresses(a.ID, tmux.CtrlU)
	r.awaitState(a.ID, daemon.Idle)
	if n := len(r.requests(a.ID)); n != said {
		t.Errorf("the model was asked %d times, want %d", n, said)
	}
	return a.ID
}

// byItself is the prompt of a turn in which the model runs the command.
const byItself = "hand over when you think so"

// asksByItself: the model itself can run the command, and hears what it says. The handoff is cancelled before the end of that turn.
func asksByItself(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	prompts, stops, had := len(r.tap.of(a.ID, hooks.UserPromptSubmit)), len(r.tap.of(a.ID, hooks.Stop)), len(handoffsOf(r.rig, a.ID))
	r.api.SetScript(claudetest.Ask(byItself, claudetest.Skill("handoff", quotedFocus), func(claudetest.Request) claudetest.Reply {
		return claudetest.Reply{Text: "OK", Hold: true}
	}))
	r.awaitVerdict(a.ID, r.sendMessage(a.ID, byItself).ID, daemon.Submitted)
	id := r.awaitCommanded(a.ID, had)
	r.awaitModelAsked("Tell the user in one sentence")
	h := cancelHandoff(r.rig, a.ID, daemon.Generating)
	r.api.Release()
	r.await("the end of the turn", func() (bool, string) { return len(r.tap.of(a.ID, hooks.Stop)) > stops, r.tap.String() })
	want := fmt.Sprintf("handoff %d of agent %d initiated", id, a.ID)
	if got := r.heard(a.ID, "Tell the user in one sentence"); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("the model heard %q, want what the command said", got)
	}
	if got := r.tap.of(a.ID, hooks.UserPromptSubmit); len(got) != prompts+1 {
		t.Errorf("%d prompts after %d, want the one that was sent", len(got), prompts)
	}
	if h.Mode != daemon.ModeGenerate || h.Focus != quotedFocus {
		t.Errorf("handoff in mode %s with focus %q, want %s with %q", h.Mode, h.Focus, daemon.ModeGenerate, quotedFocus)
	}
	return a.ID
}

// awaitCommanded waits for the handoff that the command has requested, and returns its id. The agent had that many
// before.
func (r *claudeRig) awaitCommanded(agentID int64, had int) int64 {
	r.t.Helper()
	r.await("the handoff", func() (bool, string) {
		return len(handoffsOf(r.rig, agentID)) == had+1, fmt.Sprint(handoffsOf(r.rig, agentID))
	})
	return r.latestHandoff(agentID).ID
}
