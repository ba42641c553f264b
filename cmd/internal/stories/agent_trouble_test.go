package stories

import (
	"fmt"
	"strings"
	"testing"

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
		if a.Trouble.Code != "usage_limit" || a.Trouble.Message != text || a.LastMessage != "" || a.State != daemon.Limited {
			t.Errorf("agent is %s, in trouble %+v, said %q", a.State, a.Trouble, a.LastMessage)
		}
		told := awaitNotification(r, func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID })
		if kind, message := field(t, told, "kind"), fmt.Sprint(field(t, told, "message")); kind != "waiting" || !strings.Contains(message, text) || !strings.Contains(message, "`understudy agent ") {
			t.Errorf("the operator was told as %s: %q", kind, message)
		}
		sit(r, false, "agent", "list").wantPrintedOnce("limited until 07:08, asks")
		sit(r, false, "agent", "show", fmt.Sprint(a.ID)).wantPrintedOnce("usage_limit: " + text + ", since ")
		got, err := scrape(r, t.Context())
		if err != nil || got.value("agents_in_trouble", "usage_limit") != 1 || got.value("agents_in_trouble", "overloaded") != 0 {
			t.Errorf("metrics: %v, %v", got["understudy_agents_in_trouble"], err)
		}

		// Another failed attempt is no news. A command that waits for the agent is told all the same.
		sit(r, false, "agent", "send", fmt.Sprint(a.ID), "Go on", "--wait").wantPrintedOnce("understudy: agent 1 is in trouble: usage_limit: " + text)
		r.await("another failed turn", func() (bool, string) {
			b := r.getAgent(a.ID)
			return b.State == daemon.Limited && b.StateAt.After(a.StateAt), string(b.State)
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
