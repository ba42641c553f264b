package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestAgentInTroubleIsToldOf: An agent that hit a limit of the API does not look like one that is done.
func TestAgentInTroubleIsToldOf(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "@say All is done.").ID, daemon.Submitted)
		r.awaitAgent(a.ID, "an answer", func(a daemon.Agent) bool { return a.LastMessage != "" && a.State == daemon.Idle })
		r.misbehave("api-error=usage_limit")
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "Go on").ID, daemon.Submitted)
		a = r.awaitAgent(a.ID, "trouble", func(a daemon.Agent) bool { return a.Trouble != nil })
		const text = "You've hit your 5-hour limit · resets 7:08am (UTC)"
		if a.Trouble.Code != "usage_limit" || a.Trouble.Message != text || a.LastMessage != "" || a.State != daemon.Idle {
			t.Errorf("agent is %s, in trouble %+v, said %q", a.State, a.Trouble, a.LastMessage)
		}
		told := r.awaitTold(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID })
		if kind, message := field(t, told, "kind"), fmt.Sprint(field(t, told, "message")); kind != "waiting" || !strings.Contains(message, text) || !strings.Contains(message, "`understudy agent ") {
			t.Errorf("the operator was told as %s: %q", kind, message)
		}
		r.sit(false, "agent", "list").wantPrintedOnce("idle, usage_limit")
		r.sit(false, "agent", "show", fmt.Sprint(a.ID)).wantPrintedOnce("usage_limit: " + text + ", since ")
		got, err := r.scrape(t.Context())
		if err != nil || got.value("agents_in_trouble", "usage_limit") != 1 || got.value("agents_in_trouble", "overloaded") != 0 {
			t.Errorf("metrics: %v, %v", got["understudy_agents_in_trouble"], err)
		}

		// Another failed attempt is no news. A command that waits for the agent is told all the same.
		r.sit(false, "agent", "send", fmt.Sprint(a.ID), "Go on", "--wait").wantPrintedOnce("understudy: agent 1 is in trouble: usage_limit: " + text)
		r.await("another failed turn", func() (bool, string) {
			b := r.getAgent(a.ID)
			return b.State == daemon.Idle && b.StateAt.After(a.StateAt), string(b.State)
		})
		r.misbehave("")
		r.awaitVerdict(a.ID, r.sendMessage(a.ID, "@say Here I am.").ID, daemon.Submitted)
		a = r.awaitAgent(a.ID, "no trouble", func(a daemon.Agent) bool { return a.Trouble == nil && a.State == daemon.Idle })
		if a.LastMessage != "Here I am." {
			t.Errorf("the agent said %q last", a.LastMessage)
		}
		if begun, over := r.agentEvents(a.ID, "agent_trouble"), r.agentEvents(a.ID, "agent_trouble_over"); len(begun) != 1 || len(over) != 1 {
			t.Errorf("trouble has begun %d times and ended %d times, want once", len(begun), len(over))
		}
	})
}

// wantPrintedOnce waits until the command ends, and fails unless it has printed this exactly once.
func (s *seat) wantPrintedOnce(what string) {
	s.r.t.Helper()
	<-s.ended
	if shown := s.shown(); strings.Count(shown, what) != 1 || s.code != commands.ExitDone {
		s.r.t.Errorf("exit code %d, want %q once in\n%s", s.code, what, shown)
	}
}

// awaitTold waits until the operator was notified of something, and returns that event.
func (r *rig) awaitTold(of func(event.Event) bool) (told event.Event) {
	r.t.Helper()
	r.await("operator told", func() (bool, string) {
		list := r.eventsWhere(func(e event.Event) bool { return e.Type == "operator_notified" && of(e) })
		if len(list) > 0 {
			told = list[0]
		}
		return len(list) > 0, ""
	})
	return told
}

// notified lists the messages of all notifications.
func (r *rig) notified() (messages []string) {
	r.t.Helper()
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.Type == "operator_notified" }) {
		messages = append(messages, fmt.Sprint(field(r.t, e, "message")))
	}
	return messages
}

// TestOneAlertForATmuxServer: Agents, a handoff and a pipeline end with the tmux server. The operator is told once,
// by the daemon that comes after the one that saw it. Each of them still has its row and its event.
func TestOneAlertForATmuxServer(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("held", "developer | prompt: Work. @hold nowhere")
		r.start()
		var agents []int64
		for range 3 {
			agents = append(agents, r.startAgent("").ID)
		}
		run := r.startPipeline("held", roof)
		agents = append(agents, r.awaitWorkingAgent(run.ID, 1).ID)
		r.misbehave("think=1h")
		out := r.startAgent(con)
		agents = append(agents, out.ID)
		h := r.awaitPhase(r.requestHandoff(out.ID), daemon.AwaitingDocument)
		r.killTmux()
		for _, id := range agents {
			if a := r.awaitState(id, daemon.Ended); *a.EndReason != "tmux_server_gone" {
				t.Errorf("agent %d ended by %s", id, *a.EndReason)
			}
		}
		r.halt()
		r.start()
		r.awaitPipeline(run.ID, daemon.PipelineFailed)
		if h := r.awaitPhase(h.ID, daemon.Failed); h.Error.Code != "agent_gone" {
			t.Errorf("handoff failed by %s", h.Error.Code)
		}
		message := fmt.Sprint(field(t, r.awaitTold(func(event.Event) bool { return true }), "message"))
		for _, want := range []string{
			"The tmux server at " + out.PaneSocket + " has ended, and 5 agents with it: ",
			fmt.Sprintf("pipeline %d)", run.ID), fmt.Sprintf("handoff %d)", h.ID),
			fmt.Sprintf("Pipeline %d failed by it: `understudy pipeline resume ID`", run.ID), fmt.Sprintf("Handoff %d failed by it, before its record", h.ID),
			"Open sessions again: agent ", "`understudy agent resume ID`", "The next agent gets a new server.",
		} {
			if !strings.Contains(message, want) {
				t.Errorf("the operator was told %q, want %q in it", message, want)
			}
		}
		for _, id := range agents {
			if n := len(r.agentEvents(id, "agent_ended")); n != 1 {
				t.Errorf("agent %d has ended %d times", id, n)
			}
		}
		r.misbehave("")
		r.startAgent(con) // It starts on a new server.
		if told := r.notified(); len(told) != 1 {
			t.Errorf("the operator was told %d times: %q", len(told), told)
		}
	})
}
