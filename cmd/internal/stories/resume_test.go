package stories

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

// startWorked starts an agent that has done a turn, so that its session has a conversation.
func startWorked(r *rig, persona string) daemon.Agent {
	r.t.Helper()
	return doTurn(r, r.startAgent(persona).ID, "Find out why the tests are slow")
}

// awaitTmuxEnds waits until the agents have ended with their tmux server.
func awaitTmuxEnds(r *rig, ids ...int64) {
	r.t.Helper()
	for _, id := range ids {
		if a := r.awaitState(id, daemon.Ended); *a.EndReason != "tmux_server_gone" {
			r.t.Errorf("agent %d ended by %s", id, *a.EndReason)
		}
	}
}

// wantResumed checks that exactly one agent has opened the session of an agent again, and returns that agent.
func wantResumed(r *rig, old daemon.Agent) daemon.Agent {
	r.t.Helper()
	next := r.successors(old.ID)
	if len(next) != 1 {
		r.t.Fatalf("%d agents go on with agent %d, want one", len(next), old.ID)
	}
	now := r.awaitState(next[0].ID, daemon.Idle)
	if *now.SessionID != *old.SessionID {
		r.t.Errorf("agent %d has session %s, want that of agent %d", now.ID, *now.SessionID, old.ID)
	}
	return now
}

// TestResumeAllAfterTheTmuxServer: Two people resume all at once. Each session is opened again once. A session without a
// conversation is said, and not opened; an agent that a person stopped, and one whose handoff failed, are left alone.
func TestResumeAllAfterTheTmuxServer(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, b, mute, stopped := startWorked(r, con), startWorked(r, ""), r.startAgent(""), startWorked(r, "")
		r.stopAgent(stopped.ID, false)
		r.awaitState(stopped.ID, daemon.Ended)
		out := startWorked(r, "reviewer-ada-1")
		r.misbehave("think=1h")
		h := r.awaitPhase(r.requestHandoff(out.ID), daemon.AwaitingDocument)
		killTmux(r)
		awaitTmuxEnds(r, a.ID, b.ID, mute.ID, out.ID)
		r.misbehave("") // not before: the agent may read it only now, and write its document in its last moment
		r.awaitPhase(h.ID, daemon.Failed)
		type answer struct {
			done []views.Resumption
			err  error
		}
		answers := make(chan answer, 2)
		for range 2 {
			go func() {
				done, err := r.client.ResumeAgents(t.Context())
				answers <- answer{done, err}
			}()
		}
		var said []string
		for range 2 {
			got := <-answers
			if got.err != nil {
				t.Fatal(got.err)
			}
			for _, d := range got.done {
				if d.Started != nil {
					said = append(said, fmt.Sprintf("%d goes on", d.AgentID))
				} else {
					said = append(said, fmt.Sprintf("%d %s", d.AgentID, d.Error.Code))
				}
			}
		}
		for _, old := range []daemon.Agent{a, b} {
			wantResumed(r, old)
			if n := len(slices.DeleteFunc(slices.Clone(said), func(s string) bool { return s != fmt.Sprintf("%d goes on", old.ID) })); n != 1 {
				t.Errorf("%d answers say that agent %d goes on: %q", n, old.ID, said)
			}
		}
		for _, want := range []string{fmt.Sprintf("%d conversation_gone", mute.ID), fmt.Sprintf("%d handoff_failed", out.ID)} {
			if !slices.Contains(said, want) {
				t.Errorf("answers %q, want %q among them", said, want)
			}
		}
		for _, id := range []int64{mute.ID, stopped.ID, out.ID} {
			if next := r.successors(id); len(next) != 0 {
				t.Errorf("agent %d was resumed by %d agents", id, len(next))
			}
		}
		r.awaitPhase(h.ID, daemon.Failed)
	})
}

// TestTurnThatBrokeOff: whoever opens the session of an agent again that died in a turn is told that nobody goes on with that turn,
// until the next prompt. An agent that died at rest is just idle.
func TestTurnThatBrokeOff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a, b := startWorked(r, con), startWorked(r, "tester-kit-1")
		r.holdTurn(a.ID, "a long one")
		killTmux(r)
		for _, old := range []daemon.Agent{a, b} {
			r.awaitState(old.ID, daemon.Ended)
			next, err := r.client.ResumeAgent(t.Context(), old.ID)
			if err != nil {
				t.Fatal(err)
			}
			note := ""
			if old.ID == a.ID {
				note = fmt.Sprintf("its turn broke off when agent %d ended: tell it to go on", a.ID)
			}
			if got := r.awaitState(next.ID, daemon.Idle); got.Note != note {
				t.Errorf("agent %d, which goes on from %d, has the note %q, want %q", next.ID, old.ID, got.Note, note)
			}
			r.sendMessage(next.ID, "go on")
			r.await("the note is gone", func() (bool, string) { g := r.getAgent(next.ID); return g.Note == "" && g.Asked == "go on", g.Note })
		}
	})
}

// TestSessionThatTheCLIDoesNotFind: The runtime does not find the conversation, which only the runtime can know. The operator is
// told what to do, and nobody tries again.
func TestSessionThatTheCLIDoesNotFind(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		h, _, old := handOver(r, startWorked(r, con).ID)
		r.stopAgent(old.ID, false)
		old = r.awaitState(old.ID, daemon.Ended)
		if err := os.Truncate(*old.TranscriptPath, 0); err != nil {
			t.Fatal(err)
		}
		next, err := r.client.ResumeAgent(t.Context(), old.ID)
		if err != nil {
			t.Fatal(err)
		}
		if next = r.awaitState(next.ID, daemon.Ended); !strings.HasPrefix(*next.EndReason, "conversation_gone; its pane shows ‹error: no conversation found") {
			t.Errorf("agent %d ended by %q", next.ID, *next.EndReason)
		}
		wantAlerts(r, next.ID, "agent_ended", 1, "start anew in "+r.work+" with `understudy agent start developer-con-1`, which is pointed to the persona's last document, "+h.FilePath)
		_, err = r.client.ResumeAgent(t.Context(), old.ID)
		wantCode(t, err, "conversation_gone")
		if again := r.successors(old.ID); len(again) != 1 {
			t.Errorf("%d agents were started for the session", len(again))
		}
		if err := os.Remove(*old.TranscriptPath); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDaemonResumesByItself: With the setting, a daemon opens the sessions again of the agents that died with the tmux server before
// its start, each once over all starts, and tells that with their ends. Agents that die again soon are left to a person.
func TestDaemonResumesByItself(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Resume = true
		r.start()
		a, b, mute, stopped, crashed := startWorked(r, con), startWorked(r, ""), r.startAgent(""), startWorked(r, ""), startWorked(r, "")
		r.stopAgent(stopped.ID, false)
		r.awaitState(stopped.ID, daemon.Ended)
		killAgent(r, crashed.ID)
		r.awaitState(crashed.ID, daemon.Ended)
		awaitNotification(r, func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == crashed.ID })
		r.halt()
		killTmux(r)
		pass(5 * time.Minute)
		r.start()
		pass(time.Minute)
		first, second := wantResumed(r, a), wantResumed(r, b)
		told := messages(r, "operator_notified")
		want := fmt.Sprintf(" The daemon has opened 2 sessions again: agent %d (%s) as %d, %d (%s) as %d.", a.ID, a.Name, first.ID, b.ID, b.Name, second.ID)
		if len(told) != 2 || !strings.Contains(told[1], want) || strings.Contains(told[1], "Open sessions again") ||
			!strings.Contains(told[1], fmt.Sprintf("Start anew, for want of a session: agent %d,", mute.ID)) {
			t.Errorf("the operator was told %q, want once about the server with %q", told, want)
		}
		r.halt()
		r.start()
		pass(time.Minute)
		for _, old := range []daemon.Agent{a, b} {
			wantResumed(r, old)
		}
		for _, old := range []daemon.Agent{mute, stopped, crashed} {
			if n := len(r.successors(old.ID)); n != 0 {
				t.Errorf("agent %d was resumed by %d agents", old.ID, n)
			}
		}
		r.halt()
		killTmux(r)
		pass(time.Second)
		for range 2 {
			r.start()
			pass(time.Minute)
			r.halt()
		}
		r.start()
		for _, again := range []daemon.Agent{first, second} {
			if n := len(r.successors(again.ID)); n != 0 {
				t.Errorf("agent %d, which died soon after its resumption, was resumed by %d agents", again.ID, n)
			}
			e := r.agentEvents(again.ID, "agent_not_resumed")
			if len(e) != 1 || !strings.Contains(string(e[0].Payload), "after its session was opened again, so the daemon does not do that by itself once more") {
				t.Errorf("agent %d was told of by %v", again.ID, e)
			}
		}
		if _, err := r.client.ResumeAgent(t.Context(), first.ID); err != nil {
			t.Errorf("a person cannot resume it: %v", err)
		}
	})
}

// TestResumptionGoesOnAfterAKill: The daemon is killed after it has opened the first of the sessions again. The next daemon opens
// the others.
func TestResumptionGoesOnAfterAKill(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Resume = true
		var opened atomic.Int64
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewAgent != nil && c.NewAgent.Resume != "" && opened.Add(1) == 2 {
				return errors.New("killed")
			}
			return do()
		}}).start()
		var all []daemon.Agent
		for range 6 {
			all = append(all, startWorked(r, ""))
		}
		r.halt()
		killTmux(r)
		pass(time.Second)
		r.start()
		r.await("the commit that fails", func() (bool, string) { return opened.Load() == 2, "" })
		r.halt()
		r.start()
		pass(time.Minute)
		for _, old := range all {
			wantResumed(r, old)
		}
	})
}
