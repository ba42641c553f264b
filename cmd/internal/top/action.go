package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// verb says what an action does.
type verb int

const (
	handOff verb = iota
	cancelHandoff
	retryHandoff
	approve
	reject
	waitForReset
	handOverLimited
	allowOnce
	allowAgent
	denyCall
)

// action is one request of the operator. It holds the ids that its row had when the key was pressed, because rows may
// move before the action runs.
type action struct {
	verb     verb
	agent    int64
	handoff  int64
	pipeline int64
	asked    daemon.Permission // what is allowed or denied
	step     int64             // the step of the pipeline that is approved or rejected
	reason   string
	text     string // the handoff's focus, or the comment of a decision
}

// String says what the action is doing, while it runs.
func (a action) String() string {
	switch a.verb {
	case handOff:
		return fmt.Sprintf("handing off agent %d", a.agent)
	case cancelHandoff:
		return fmt.Sprintf("cancelling handoff %d", a.handoff)
	case retryHandoff:
		return fmt.Sprintf("retrying handoff %d", a.handoff)
	case approve:
		return fmt.Sprintf("approving pipeline %d", a.pipeline)
	case allowOnce, allowAgent, denyCall:
		return fmt.Sprintf("answering permission %d", a.asked.ID)
	case waitForReset, handOverLimited:
		return fmt.Sprintf("deciding about the limit of agent %d", a.agent)
	}
	return fmt.Sprintf("rejecting pipeline %d", a.pipeline)
}

// doneMsg is the result of an action.
type doneMsg struct {
	said string
	err  error
}

// actionTime is the time limit for an action.
const actionTime = 30 * time.Second

// command runs the action in a goroutine of its own.
func (a action) command(ctx context.Context, c *api.Client) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeoutCause(ctx, actionTime, errSlow)
		defer cancel()
		said, err := a.do(ctx, c)
		return doneMsg{said, slow(ctx, err)}
	}
}

// do runs the action and returns the sentence that reports its success.
func (a action) do(ctx context.Context, c *api.Client) (said string, err error) {
	switch a.verb {
	case handOff:
		in, err := c.RequestHandoff(ctx, a.agent, daemon.HandoffRequest{Reason: strings.TrimSpace(a.reason), Focus: strings.TrimSpace(a.text)})
		return fmt.Sprintf("handoff %d of agent %d is under way", in.HandoffID, a.agent), err
	case cancelHandoff:
		_, err := c.CancelHandoff(ctx, a.agent, a.handoff)
		return fmt.Sprintf("handoff %d is cancelled; agent %d lives on", a.handoff, a.agent), err
	case retryHandoff:
		_, err := c.RetryHandoff(ctx, a.handoff, "")
		return fmt.Sprintf("handoff %d goes on", a.handoff), err
	case waitForReset:
		_, err := c.DecideLimit(ctx, a.agent, daemon.LimitDecision{Do: daemon.LimitWait})
		return fmt.Sprintf("agent %d goes on after its limit", a.agent), err
	case handOverLimited:
		_, err := c.DecideLimit(ctx, a.agent, daemon.LimitDecision{Do: daemon.LimitHandOver})
		return fmt.Sprintf("agent %d is handed over", a.agent), err
	case allowOnce, allowAgent, denyCall:
		in := daemon.PermissionAnswer{Digest: a.asked.Digest, Verdict: map[verb]daemon.PermissionVerdict{
			allowOnce: daemon.Allow, allowAgent: daemon.AllowAgent, denyCall: daemon.Deny,
		}[a.verb]}
		if a.verb == denyCall {
			in.Sentence = strings.TrimSpace(a.text)
		}
		p, err := c.AnswerPermission(ctx, a.asked.ID, in)
		return fmt.Sprintf("permission %d of agent %d: %s", p.ID, p.AgentID, p.Outcome()), err
	}
	return a.decide(ctx, c)
}

// decide approves or rejects the step that the screen showed. If the pipeline is now at another step, decide changes
// nothing.
func (a action) decide(ctx context.Context, c *api.Client) (said string, err error) {
	in := daemon.Decision{StepID: a.step, Comment: strings.TrimSpace(a.text)}
	if a.verb == approve {
		_, err := c.ApprovePipeline(ctx, a.pipeline, in)
		return fmt.Sprintf("pipeline %d is approved and goes on", a.pipeline), err
	}
	p, err := c.RejectPipeline(ctx, a.pipeline, in)
	said = fmt.Sprintf("pipeline %d is rejected", a.pipeline)
	if p.Hint != "" {
		said += "; " + p.Hint
	}
	return said, err
}
