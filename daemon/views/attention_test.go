package views

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/daemon"
)

var noon = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)

// seen returns an agent that has been idle for an hour, as change alters it.
func seen(id int64, change func(*daemon.Agent)) daemon.Agent {
	pane, session, at := "%1", "s", noon.Add(-2*time.Hour)
	a := daemon.Agent{ID: id, State: daemon.Idle, StateAt: noon.Add(-time.Hour), AgentPane: daemon.AgentPane{Pane: &pane}, AgentSession: daemon.AgentSession{SessionID: &session}, RegisteredAt: &at, Persona: &pane, Managed: true, Runtime: "claude"}
	if change != nil {
		change(&a)
	}
	return a
}

// over returns a change that ends an agent some time ago.
func over(ago time.Duration, code daemon.EndCode) func(*daemon.Agent) {
	return func(a *daemon.Agent) {
		at := noon.Add(-ago)
		a.State, a.EndedAt = daemon.Ended, &at
		a.EndBy(code, "")
	}
}

// failed returns a handoff of agent 1 that failed some time ago, as change alters it.
func failed(ago time.Duration, change func(*daemon.Handoff)) daemon.Handoff {
	at := noon.Add(-ago)
	h := daemon.Handoff{ID: 9, AgentID: 1, Phase: daemon.Failed, CompletedAt: &at, Error: &daemon.Failure{Message: "There is no document", Hint: "ask for it"}}
	if change != nil {
		change(&h)
	}
	return h
}

// said writes attentions, one on a line.
func said(list []Attention) string {
	var b strings.Builder
	for _, n := range list {
		fmt.Fprintf(&b, "%s %d %s for %s: %s; %s\n", n.About, n.ID, n.Kind, noon.Sub(n.Since), n.Why, n.Next)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAttentionOfActiveAgents(t *testing.T) {
	t.Parallel()
	trouble := &daemon.Trouble{Code: "billing", Message: "no credit", Since: noon.Add(-time.Minute)}
	full := &daemon.ContextUse{Tier: daemon.TierHigh}
	for name, tt := range map[string]struct {
		change  func(*daemon.Agent)
		handoff *daemon.Handoff
		auto    bool
		want    string
	}{
		"idle":              {nil, nil, false, ""},
		"a dialog":          {func(a *daemon.Agent) { a.State, a.WaitsFor = daemon.Waiting, "more time" }, nil, false, "agent 1 waiting for 1h0m0s: it asks for more time; answer it with `understudy agent dialog 1`, or in its pane, `understudy agent attach 1`"},
		"a dialog, unnamed": {func(a *daemon.Agent) { a.State, a.Pane = daemon.Waiting, nil }, nil, false, "agent 1 waiting for 1h0m0s: a dialog waits for an answer; answer it with `understudy agent show 1`"},
		"a dialog, failed":  {func(a *daemon.Agent) { a.State = daemon.Waiting }, new(failed(0, nil)), false, "agent 1 waiting for 1h0m0s: a dialog waits for an answer; answer it with `understudy agent dialog 1`, or in its pane, `understudy agent attach 1`"},
		"trouble":           {func(a *daemon.Agent) { a.Trouble = trouble }, nil, false, "agent 1 trouble for 1m0s: its turns fail: billing: no credit; have it try again in a while: `understudy agent send 1 \"Go on\"`"},
		"trouble, at work":  {func(a *daemon.Agent) { a.Trouble, a.State = trouble, daemon.Working }, nil, false, ""},
		"trouble, failed":   {func(a *daemon.Agent) { a.Trouble = trouble }, new(failed(time.Second, nil)), false, "agent 1 failed for 1s: its handoff failed: There is no document; ask for it"},
		"failed long ago":   {nil, new(failed(99*time.Hour, nil)), false, "agent 1 failed for 99h0m0s: its handoff failed: There is no document; ask for it"},
		"failed, no hint":   {nil, new(failed(0, func(h *daemon.Handoff) { h.Error.Hint = "" })), false, "agent 1 failed for 0s: its handoff failed: There is no document; `understudy handoff retry 9`"},
		"a decision":        {nil, &daemon.Handoff{ID: 9, AgentID: 1, Phase: daemon.ShuttingDown, Hold: &daemon.Hold{Kind: daemon.HoldWorkedOn}, PhaseAt: noon}, false, "agent 1 decision for 0s: " + daemon.HoldWorkedOn.Row().Says + "; `understudy handoff retry 9` or `understudy agent stop 1`"},
		"being handed over": {nil, &daemon.Handoff{ID: 9, AgentID: 1, Phase: daemon.Instructing, Hold: &daemon.Hold{Kind: daemon.HoldBusy}}, false, ""},
		"can't be ended": {func(a *daemon.Agent) {
			a.StopStage, a.StopStageAt, a.PID, a.State = daemon.StopFailed, &noon, 77, daemon.Waiting
		}, nil, false, "agent 1 stuck for 0s: it could not be ended; end it yourself: see `ps -fp 77`"},
		"did not register": {func(a *daemon.Agent) {
			a.State, a.Hold = daemon.Starting, &daemon.Hold{Kind: daemon.HoldNotRegistered, HoldDetail: daemon.HoldDetail{Limit: "90s"}}
		}, nil, false, "agent 1 stuck for 1h0m0s: it did not register within 90s; look at it with `understudy agent attach 1`"},
		"held":               {func(a *daemon.Agent) { a.Hold = &daemon.Hold{Kind: daemon.HoldBudget} }, nil, false, "agent 1 held for 1h0m0s: held: the budget of its persona is used up for today; let the persona's agents go on for today with `understudy persona go-on %1`, or raise the budget in its skill.md"},
		"full":               {func(a *daemon.Agent) { a.Context = full }, nil, false, "agent 1 full for 1h0m0s: its context is nearly full: hand it over; `understudy handoff 1`"},
		"full, by itself":    {func(a *daemon.Agent) { a.Context = full }, nil, true, ""},
		"full, under way":    {func(a *daemon.Agent) { a.Context = full }, &daemon.Handoff{ID: 9, AgentID: 1, Phase: daemon.Instructing}, false, ""},
		"full, nobody's":     {func(a *daemon.Agent) { a.Context, a.Persona = full, nil }, nil, false, ""},
		"full, has room yet": {func(a *daemon.Agent) { a.Context = &daemon.ContextUse{Tier: daemon.TierWarn} }, nil, false, ""},
	} {
		o := Overview{At: noon, Agents: []daemon.Agent{seen(1, tt.change)}, Auto: func(*daemon.Agent) (bool, string) { return tt.auto, "" }}
		if tt.handoff != nil {
			o.Handoffs = []daemon.Handoff{*tt.handoff}
		}
		equal(t, name, said(o.Attention()), tt.want)
	}
}

// The work of an ended agent needs a person unless another agent goes on with it or a person has ended the agent.
func TestAttentionOfEndedAgents(t *testing.T) {
	t.Parallel()
	two := int64(2)
	died, left := over(time.Hour, "process_gone"), over(time.Hour, "prompt_input_exit")
	recorded := failed(time.Minute, func(h *daemon.Handoff) { h.RecordedAt = &noon })
	passed := failed(time.Minute, func(h *daemon.Handoff) {
		h.RecordedAt, h.SuccessorID, h.Heirs = &noon, &two, []daemon.HandoffHeir{{AgentID: &two}}
	})
	const death, handoff = "agent 1 died for 1h0m0s: it died, which nobody asked for; `understudy agent resume 1` opens its session again", "handoff 9 failed for 1m0s: its handoff failed: There is no document; ask for it"
	for name, tt := range map[string]struct {
		agents   []daemon.Agent
		handoffs []daemon.Handoff
		want     string
	}{
		"died":                            {[]daemon.Agent{seen(1, died)}, nil, death},
		"died, never had a session":       {[]daemon.Agent{seen(1, func(a *daemon.Agent) { died(a); a.SessionID = nil })}, nil, "agent 1 died for 1h0m0s: it died, which nobody asked for; its session cannot be opened again: start another one with `understudy agent start %1`"},
		"died, and was dismissed":         {[]daemon.Agent{seen(1, func(a *daemon.Agent) { died(a); a.DismissedAt = &noon })}, nil, ""},
		"dismissed, died in a handoff":    {[]daemon.Agent{seen(1, func(a *daemon.Agent) { died(a); a.DismissedAt = &noon })}, []daemon.Handoff{failed(time.Minute, nil)}, ""},
		"died long ago":                   {[]daemon.Agent{seen(1, over(25*time.Hour, "process_gone"))}, nil, ""},
		"died in a pipeline":              {[]daemon.Agent{seen(1, func(a *daemon.Agent) { died(a); a.PipelineID = &two })}, nil, ""},
		"died, opened again":              {[]daemon.Agent{seen(1, func(a *daemon.Agent) { died(a); a.SuccessorID = &two }), seen(2, nil)}, nil, ""},
		"left":                            {[]daemon.Agent{seen(1, left)}, nil, ""},
		"died in a handoff":               {[]daemon.Agent{seen(1, died)}, []daemon.Handoff{failed(time.Minute, nil)}, handoff},
		"left after a handoff failed":     {[]daemon.Agent{seen(1, left)}, []daemon.Handoff{failed(time.Minute, nil)}, ""},
		"failed, nobody is known":         {nil, []daemon.Handoff{failed(time.Minute, nil)}, handoff},
		"failed, nobody is known, old":    {nil, []daemon.Handoff{failed(25*time.Hour, nil)}, ""},
		"recorded, no successor":          {[]daemon.Agent{seen(1, left)}, []daemon.Handoff{recorded}, handoff},
		"the successor died":              {[]daemon.Agent{seen(1, left), seen(2, died)}, []daemon.Handoff{passed}, handoff},
		"the successor was ended":         {[]daemon.Agent{seen(1, left), seen(2, left)}, []daemon.Handoff{passed}, ""},
		"the successor lives":             {[]daemon.Agent{seen(1, left), seen(2, nil)}, []daemon.Handoff{passed}, "agent 2 failed for 1m0s: its handoff failed: There is no document; ask for it"},
		"the successor was handed over":   {[]daemon.Agent{seen(1, left), seen(2, died)}, []daemon.Handoff{passed, {ID: 10, AgentID: 2, Phase: daemon.Cancelled}}, "agent 2 died" + strings.ReplaceAll(strings.TrimPrefix(death, "agent 1 died"), " 1`", " 2`")},
		"another one was asked for since": {[]daemon.Agent{seen(1, nil)}, []daemon.Handoff{{ID: 10, AgentID: 1, Phase: daemon.Cancelled}, failed(time.Minute, nil)}, ""},
		"somebody else goes on":           {[]daemon.Agent{seen(1, died), seen(3, func(a *daemon.Agent) { a.PreviousAgentID = new(int64(1)) })}, []daemon.Handoff{recorded}, ""},
	} {
		o := Overview{At: noon, Handoffs: tt.handoffs}
		for _, a := range tt.agents {
			if a.Active() {
				o.Agents = append(o.Agents, a)
			} else {
				o.Ended = append(o.Ended, a)
			}
		}
		if name == "somebody else goes on" {
			o.Ended[0].SuccessorID = new(int64(3))
		}
		equal(t, name, said(o.Attention()), tt.want)
	}
}

// TestDeathsOfOneServerAreOneAttention: an operator is asked once for one cause.
func TestDeathsOfOneServerAreOneAttention(t *testing.T) {
	t.Parallel()
	with := func(id int64, name, cause string) daemon.Agent {
		return seen(id, func(a *daemon.Agent) { over(time.Hour, "tmux_server_gone")(a); a.Name, a.EndCause = name, cause })
	}
	o := Overview{At: noon, Ended: []daemon.Agent{with(3, "c", "tmux server 1"), with(2, "b", "tmux server 1"), with(5, "e", "tmux server 2"), with(4, "d", "tmux server 1")}}
	const want = "agent 2 died for 1h0m0s: 3 agents ended with their tmux server: 2 (b), 3 (c), 4 (d); `understudy agent resume --all` opens their sessions again\n" +
		"agent 5 died for 1h0m0s: it died, which nobody asked for; `understudy agent resume 5` opens its session again"
	got := o.Attention()
	equal(t, "said(got)", said(got), want)
	if len(got) != 2 || len(got[0].Together) != 3 || got[1].Together != nil {
		t.Errorf("together: %+v", got)
	}
}

func TestAttentionOfPipelines(t *testing.T) {
	t.Parallel()
	why, old := "Step timed out", noon.Add(-25*time.Hour)
	steps := []daemon.Step{{Status: daemon.StepDone, AgentName: "developer"}, {AgentName: "reviewer"}}
	o := Overview{At: noon, Pipelines: []daemon.Pipeline{
		{ID: 1, Status: daemon.PipelineWaiting, Steps: steps, UpdatedAt: noon.Add(-time.Minute)},
		{ID: 2, Status: daemon.PipelineFailed, Steps: steps, FinishedAt: new(noon.Add(-time.Hour)), Error: &why, Hint: "wait"},
		{ID: 3, Status: daemon.PipelineFailed, FinishedAt: &noon, ErrorCode: "aborted"},
		{ID: 4, Status: daemon.PipelineFailed, FinishedAt: &noon, ErrorCode: "rejected"},
		{ID: 5, Status: daemon.PipelineFailed, FinishedAt: &old, Error: &why},
		{ID: 6, Status: daemon.PipelineRunning, Note: "its work tree is being made"},
		{ID: 7, Status: daemon.PipelineDone, FinishedAt: &noon},
	}}
	const want = "pipeline 2 failed for 1h0m0s: it failed at step 2 of 2, reviewer: Step timed out; wait\n" +
		"pipeline 1 approval for 1m0s: it waits for your approval of step 2 of 2, reviewer; look at `understudy pipeline show 1`, then `understudy pipeline approve 1` or `understudy pipeline reject 1`"
	equal(t, "said(o.Attention())", said(o.Attention()), want)
}

// Agents whose rows name each other as predecessor make a circle and no line.
func TestAttentionReturnsForAgentsInACircle(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	o := Overview{At: noon, Handoffs: []daemon.Handoff{failed(0, nil)}, Agents: []daemon.Agent{
		seen(1, func(a *daemon.Agent) { a.PreviousAgentID, a.SuccessorID = &two, &two }), seen(2, func(a *daemon.Agent) { a.PreviousAgentID, a.SuccessorID = &one, &one }),
	}}
	if got := o.Attention(); len(got) > 1 {
		t.Errorf("got %s", said(got))
	}
}

// TestAttentionToSeveralHeirs: a handoff whose heirs failed needs a person at its outgoing agent while that is active, else
// at an heir that is, else by itself.
func TestAttentionToSeveralHeirs(t *testing.T) {
	t.Parallel()
	heir := func(a *daemon.Agent) { a.PreviousAgentID = new(int64(1)) }
	gone := func(a *daemon.Agent) { heir(a); over(time.Minute, "process_gone")(a) }
	shared := failed(time.Minute, func(h *daemon.Handoff) {
		recorded := noon
		h.RecordedAt, h.SuccessorID = &recorded, new(int64(2))
		h.Heirs = []daemon.HandoffHeir{{AgentID: new(int64(2))}, {AgentID: new(int64(3))}}
	})
	says := " failed for 1m0s: its handoff failed: There is no document; ask for it"
	for name, tt := range map[string]struct {
		agents, ended []daemon.Agent
		want          string
	}{
		"all are there":  {[]daemon.Agent{seen(1, nil), seen(2, heir), seen(3, heir)}, nil, "agent 1" + says},
		"an heir left":   {[]daemon.Agent{seen(3, heir)}, []daemon.Agent{seen(2, gone), seen(1, over(time.Hour, "exit"))}, "agent 3" + says},
		"nobody is left": {nil, []daemon.Agent{seen(2, gone), seen(3, gone), seen(1, over(time.Hour, "exit"))}, "handoff 9" + says},
	} {
		o := Overview{At: noon, Agents: tt.agents, Ended: tt.ended, Handoffs: []daemon.Handoff{shared}}
		equal(t, name, said(o.Attention()), tt.want)
	}
}

var equal = wardentest.Equal
