//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/claudetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// quotedFocus has characters that a shell would interpret.
const quotedFocus = `the parser's "tabs"; $(touch by-a-shell) and so on`

// cancelsByEsc: a person types /handoff, and presses Esc while the document is being written. The session goes on as it was.
func cancelsByEsc(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(func(req claudetest.Request) claudetest.Reply {
		reply := obeys(req)
		reply.Hold = slices.ContainsFunc(req.UserTexts(), isFork)
		return reply
	})
	forked, had, said := len(r.forkRequests()), len(handoffsOf(r.rig, a.ID)), len(r.requests(a.ID))
	r.personTypes(a.ID, "/handoff "+quotedFocus, tmux.Enter)
	id := r.awaitCommanded(a.ID, had)
	r.await("a fork's request", func() (bool, string) { return len(r.forkRequests()) > forked, r.tap.String() })
	pids := r.forkProcesses()
	r.awaitShown(a.ID, "running UserPromptSubmit hook")
	r.personPresses(a.ID, tmux.Escape)
	h := r.awaitPhase(id, daemon.Cancelled)
	if h.Error == nil || h.Error.Message != "Handoff cancelled in the agent's pane" {
		t.Errorf("error %+v", h.Error)
	}
	wantEndedWithin(r.rig, time.Second, pids...)
	r.awaitShown(a.ID, `/handoff the parser's "tabs"; $(touch by-a-shell) and so on`) // in the composer
	r.personPresses(a.ID, tmux.CtrlU)
	r.awaitState(a.ID, daemon.Idle)
	if n := len(r.requests(a.ID)); n != said {
		t.Errorf("the model was asked %d times, want %d", n, said)
	}
	return a.ID
}

// handsOverByCommand: a person types the command.
func handsOverByCommand(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	said, before := len(r.requests(a.ID)), r.countMade()
	r.personTypes(a.ID, "/handoff "+quotedFocus, tmux.Enter)
	h := r.wantCommanded(r.awaitCommanded(a.ID, len(handoffsOf(r.rig, a.ID))), before)
	if n := len(r.requests(a.ID)); n != said {
		t.Errorf("the model was asked %d times, want %d", n, said)
	}
	return awaitTakeover(r.rig, h).ID
}

// handsOverByItself: the model itself can run the command.
func handsOverByItself(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	prompts, before := len(r.tap.of(a.ID, hooks.UserPromptSubmit)), r.countMade()
	r.api.SetScript(claudetest.Ask("hand over when it is enough", claudetest.Skill("handoff", quotedFocus), obeys))
	r.talk(a.ID, "hand over when it is enough")
	h := r.wantCommanded(r.awaitCommanded(a.ID, 0), before)
	want := fmt.Sprintf("handoff %d of agent %d initiated", h.ID, a.ID)
	if got := r.heard(a.ID, "Tell the user in one sentence"); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("the model heard %q, want what the command said", got)
	}
	if got := r.tap.of(a.ID, hooks.UserPromptSubmit); len(got) != prompts+1 {
		t.Errorf("%d prompts after %d, want the one that was sent", len(got), prompts)
	}
	return *h.SuccessorID
}

// made counts what a handoff makes: agents, and requests of forks.
type made struct{ agents, forkRequests int }

func (r *claudeRig) countMade() made {
	r.t.Helper()
	list, err := r.client.Agents(r.t.Context(), allRows)
	must(r.t, err)
	return made{len(list), len(r.forkRequests())}
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

// wantCommanded waits until that handoff has completed, and checks what it made.
func (r *claudeRig) wantCommanded(id int64, before made) daemon.Handoff {
	r.t.Helper()
	h := r.awaitPhase(id, daemon.Completed)
	r.wantFollowed(h)
	r.wantNoDialog(h.AgentID)
	if h.Mode != daemon.ModeGenerate || h.Focus != quotedFocus {
		r.t.Errorf("handoff in mode %s with focus %q, want %s with %q", h.Mode, h.Focus, daemon.ModeGenerate, quotedFocus)
	}
	if _, err := os.Stat(filepath.Join(r.work, "by-a-shell")); !os.IsNotExist(err) {
		r.t.Errorf("a shell has run what was typed: %v", err)
	}
	if now, want := r.countMade(), (made{before.agents + 1, before.forkRequests + 1}); now != want {
		r.t.Errorf("agents and requests of forks %+v, want %+v: one request, and a fork is no agent", now, want)
	}
	return h
}
