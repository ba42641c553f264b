package stories

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks"
)

const (
	con        = "developer-con-1"
	instructed = "hand over your work" // in each instruction
)

// newestAgent is the agent that was created last.
func newestAgent(r *rig) daemon.Agent {
	r.t.Helper()
	list, err := r.client.Agents(r.t.Context(), allRows)
	if err != nil || len(list) == 0 {
		r.t.Fatalf("agents: %v, %v", list, err)
	}
	return list[0]
}

// noteBusyPart is part of the note of a handoff whose agent is in a turn.
const noteBusyPart = "the agent is in a turn"

func spoolHooks(r *rig, list ...hooks.Envelope) {
	r.t.Helper()
	for _, env := range list {
		must(r.t, hooks.OpenSpool(r.dir.Spool()).Put(env))
	}
}

// wantComposer fails unless the agent's composer holds exactly this text.
func wantComposer(r *rig, agentID int64, draft string) {
	r.t.Helper()
	if s := claude.Runtime.ReadScreen(runtimes.View{Text: r.shown(agentID)}); s.Draft != draft {
		r.t.Errorf("composer of agent %d holds %q, want %q", agentID, s.Draft, draft)
	}
}

// wantNoFile fails if anything exists at the path.
func wantNoFile(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

// wantNoPanes waits until the rig's tmux server has no pane.
func wantNoPanes(r *rig) {
	r.t.Helper()
	r.await("the end of all panes", func() (bool, string) {
		panes, err := r.tmux.List(r.t.Context())
		return err == nil && len(panes) == 0, fmt.Sprintf("%+v %v", panes, err)
	})
}

func wantStopStages(r *rig, agentID int64, want ...daemon.StopStage) {
	r.t.Helper()
	got := stopStages(r, agentID)
	if !slices.EqualFunc(got, want, func(g string, w daemon.StopStage) bool { return g == string(w) }) {
		r.t.Errorf("agent %d was stopped by %v, want %v", agentID, got, want)
	}
}

// stopStages lists the rungs of the stop ladder that the daemon has used on the agent.
func stopStages(r *rig, agentID int64) []string {
	r.t.Helper()
	var out []string
	for _, e := range r.agentEvents(agentID, "agent_stopping") {
		stage, _ := field(r.t, e, "stage").(string)
		out = append(out, stage)
	}
	return out
}

// cancelHandoff cancels the agent's handoff. It checks that the answer says so, with the phase in which it was.
func cancelHandoff(r *rig, agentID int64, in daemon.Phase) daemon.Handoff {
	r.t.Helper()
	h := value(r.client.CancelHandoff(r.t.Context(), agentID, 0))(r.t)
	if h.Status != daemon.StatusCancelled || h.Error == nil || h.Error.Message != "Handoff cancelled" || h.Error.Phase != in || h.CompletedAt == nil {
		r.t.Errorf("cancelled handoff %s %+v, want `Handoff cancelled` in %s", h.Status, h.Error, in)
	}
	return h
}

// startWorked starts an agent that has done a turn, so that its session has a conversation.
func startWorked(r *rig, persona string) daemon.Agent {
	r.t.Helper()
	return doTurn(r, r.startAgent(persona).ID, "Find out why the tests are slow")
}

const trusts = "trust: may the agent work in this folder?"

// awaitAsked waits until an agent without a session waits for a person, and checks that the operator was told in
// time.
func awaitAsked(r *rig, id int64, asks string) daemon.Agent {
	r.t.Helper()
	a := r.awaitAgent(id, "waits for "+asks, func(a daemon.Agent) bool { return a.State == daemon.Waiting && a.WaitsFor == asks })
	if a.RegisteredAt != nil {
		r.t.Errorf("agent %d waits with a session", id)
	}
	return a
}
