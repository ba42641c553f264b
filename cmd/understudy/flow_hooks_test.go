package main

import (
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// spooled is how many hooks wait in the spool.
func (r *rig) spooled() int {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir.Spool())
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			n++
		}
	}
	return n
}

func (r *rig) awaitSpooled(n int) {
	r.t.Helper()
	r.await("spooled hooks", func() (bool, string) { return r.spooled() == n, "" })
}

// TestSpool: what agents report while no daemon runs is applied by the next one, in order and once.
func TestSpool(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.agent(con)
	r.halt()
	r.personTypes(a.ID, "while you were away", tmux.Enter)
	r.awaitSpooled(2) // UserPromptSubmit, Stop
	r.personTypes(a.ID, "/clear", tmux.Enter)
	r.awaitSpooled(4) // SessionEnd, SessionStart
	r.start()
	now := r.awaitState(a.ID, daemon.Idle)
	if r.spooled() != 0 {
		t.Errorf("%d hooks are still spooled", r.spooled())
	}
	if *now.SessionID == *a.SessionID {
		t.Error("the session that /clear began is not known")
	}
	var got []string
	for _, e := range r.eventsWhere(func(e daemon.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID }) {
		if strings.HasPrefix(e.Type, "agent_") {
			got = append(got, e.Type)
		}
	}
	const want = "agent_working agent_idle agent_session_changed"
	if all := strings.Join(got, " "); !strings.HasSuffix(all, want) || strings.Count(all, "agent_working") != 1 {
		t.Errorf("events %v: want %s at the end, once", got, want)
	}
	r.awaitPhase(r.handoff(a.ID), daemon.Completed)
}

// TestStopWhileAway: a daemon that was stopped while the agent wrote its document finds the Stop in
// the spool and goes on; nothing is typed again.
func TestStopWhileAway(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.agent(con)
	r.misbehave("think=600ms")
	id := r.handoff(a.ID)
	r.awaitPhase(id, daemon.AwaitingDocument)
	r.halt()
	r.awaitSpooled(1)
	r.misbehave("")
	r.start()
	h := r.awaitPhase(id, daemon.Completed)
	r.wantTold(a.ID, instructed)
	r.wantTold(*h.SuccessorID, h.Ref)
}

// TestAnswerLost: a Stop was answered with the instruction, but the answer did not arrive: its hook
// spooled it. The instruction is typed then.
func TestAnswerLost(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.agent(con)
	r.deliver(r.hook(a.ID, "UserPromptSubmit", map[string]any{"prompt": "work", "prompt_id": "p1"}))
	id := r.handoff(a.ID)
	r.awaitPhase(id, daemon.Instructing)
	stop := r.hook(a.ID, "Stop", map[string]any{"prompt_id": "p1", "stop_hook_active": false})
	if out := r.deliver(stop); !strings.Contains(out, `"block"`) || !strings.Contains(out, instructed) {
		t.Fatalf("Stop of a busy agent answered with %q", out)
	}
	// Asked again, the daemon gives the same answer; only the spool says that it was lost.
	if out := r.deliver(stop); !strings.Contains(out, `"block"`) {
		t.Errorf("Stop that came again answered with %q", out)
	}
	if err := hooks.OpenSpool(r.dir.Spool()).Put(stop); err != nil {
		t.Fatal(err)
	}
	r.awaitPhase(id, daemon.Completed)
	r.wantTold(a.ID, instructed)
	if n := len(r.handoffEvents(id, "delivery_answered")); n != 1 {
		t.Errorf("answered %d times", n)
	}
}

// TestStopTwice: a hook that the runtime sends twice counts once.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.agent(con)
	release := r.hold(a.ID, "long work")
	r.misbehave("stop-twice")
	id := r.handoff(a.ID)
	r.awaitNote(id, noteBusyPart)
	release()
	h := r.awaitPhase(id, daemon.Completed)
	r.wantTold(a.ID, "long work", h.Ref)
	r.wantTold(*h.SuccessorID, h.Ref)
}
