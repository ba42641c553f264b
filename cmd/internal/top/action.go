package top

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
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
	startAgent
	sendMessage
	stopAgent
	resumeAgents
	dismissAgents
	renameAgent
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
	after    bool              // the operator is asked what comes after that step
	way      int               // the number of the step that comes next, if the operator chooses it; 0: the following one
	reason   string
	text     string // the handoff's focus, the comment of a decision, a message, or a name
	start    agents.NewAgent
	ids      []int64 // the agents whose sessions are opened again, or which are dismissed
	runs     bool    // the message is a command of the runtime
	force    bool    // the agent is ended without being asked to exit
	home     string  // the operator's home directory, for a path that begins with ~
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
	case startAgent:
		return "starting an agent"
	case sendMessage:
		return fmt.Sprintf("sending a message to agent %d", a.agent)
	case stopAgent:
		return fmt.Sprintf("stopping agent %d", a.agent)
	case resumeAgents:
		return "opening the session of " + listed("agent", a.ids)
	case dismissAgents:
		return "dismissing " + listed("agent", a.ids)
	case renameAgent:
		return fmt.Sprintf("renaming agent %d", a.agent)
	}
	return fmt.Sprintf("rejecting pipeline %d", a.pipeline)
}

// doneMsg is the result of an action.
type doneMsg struct {
	said  string
	err   error
	form  *form            // the form that waits for the result; nil: none does
	agent int64            // the agent that the action made; 0: none
	sent  *daemon.Delivery // the text whose verdict comes later; nil: none
	quits bool             // the program ends, so that the operator sees what is behind it
}

// actionTime is the time limit for an action.
const actionTime = 30 * time.Second

// do runs the action.
func (a action) do(ctx context.Context, c *api.Client) doneMsg {
	switch a.verb {
	case startAgent:
		return a.begin(ctx, c)
	case sendMessage:
		d, err := c.SendMessage(ctx, a.agent, a.text, a.runs)
		if err != nil {
			return doneMsg{err: err}
		}
		return doneMsg{said: fmt.Sprintf("queued for agent %d", a.agent), sent: &d}
	case resumeAgents:
		return a.resume(ctx, c)
	}
	said, err := a.say(ctx, c)
	return doneMsg{said: said, err: err}
}

// say runs an action that makes no agent and gives none a text, and returns the sentence that reports its success.
func (a action) say(ctx context.Context, c *api.Client) (said string, err error) {
	switch a.verb {
	case stopAgent:
		_, err := c.StopAgent(ctx, a.agent, a.force)
		return fmt.Sprintf("agent %d is asked to stop", a.agent), err
	case dismissAgents:
		_, err := c.DismissAgents(ctx, a.ids)
		return listed("agent", a.ids) + " dismissed; `understudy agent list --all` shows what has ended", err
	case renameAgent:
		agent, err := c.RenameAgent(ctx, a.agent, strings.TrimSpace(a.text))
		return fmt.Sprintf("agent %d is called %s", a.agent, agent.Name), err
	case handOff:
		in, err := c.RequestHandoff(ctx, a.agent, handoffs.HandoffRequest{Reason: strings.TrimSpace(a.reason), Focus: strings.TrimSpace(a.text)})
		return fmt.Sprintf("handoff %d of agent %d is under way", in.HandoffID, a.agent), err
	case cancelHandoff:
		_, err := c.CancelHandoff(ctx, a.agent, a.handoff)
		return fmt.Sprintf("handoff %d is cancelled; agent %d lives on", a.handoff, a.agent), err
	case retryHandoff:
		_, err := c.RetryHandoff(ctx, a.handoff, "")
		return fmt.Sprintf("handoff %d goes on", a.handoff), err
	case waitForReset:
		_, err := c.DecideLimit(ctx, a.agent, limits.LimitDecision{Do: daemon.LimitWait})
		return fmt.Sprintf("agent %d goes on after its limit", a.agent), err
	case handOverLimited:
		_, err := c.DecideLimit(ctx, a.agent, limits.LimitDecision{Do: daemon.LimitHandOver})
		return fmt.Sprintf("agent %d is handed over", a.agent), err
	case allowOnce, allowAgent, denyCall:
		in := permissions.Answer{Digest: a.asked.Digest, Verdict: map[verb]daemon.PermissionVerdict{
			allowOnce: daemon.Allow, allowAgent: daemon.AllowAgent, denyCall: daemon.Deny,
		}[a.verb]}
		if a.verb == denyCall {
			in.Sentence = strings.TrimSpace(a.text)
		}
		p, err := c.AnswerPermission(ctx, a.asked.ID, in)
		return fmt.Sprintf("permission %d of agent %d: %s", p.ID, p.AgentID, views.PermissionOutcome(&p)), err
	}
	return a.decide(ctx, c)
}

// decide approves or rejects the step that the screen showed. If the pipeline is now at another step, decide changes
// nothing.
func (a action) decide(ctx context.Context, c *api.Client) (said string, err error) {
	in := pipelines.Decision{StepID: a.step, After: a.after, Comment: strings.TrimSpace(a.text), Goto: a.way}
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

func (a action) begin(ctx context.Context, c *api.Client) doneMsg {
	in := a.start
	if rest, ok := strings.CutPrefix(in.Cwd, "~"); ok && a.home != "" && (rest == "" || rest[0] == '/') {
		in.Cwd = a.home + rest
	}
	in.Name, in.Prompt = strings.TrimSpace(in.Name), strings.TrimSpace(in.Prompt)
	agent, err := c.CreateAgent(ctx, in)
	done := doneMsg{said: fmt.Sprintf("agent %d (%s) is starting", agent.ID, agent.Name), err: err, agent: agent.ID}
	if err == nil && agent.FirstPromptID != nil {
		done.sent = &daemon.Delivery{ID: *agent.FirstPromptID, AgentID: agent.ID}
	}
	return done
}

// resume opens the sessions of agents again, one after the other. If one cannot be opened, it goes on with the next. The
// daemon opens a session once only.
func (a action) resume(ctx context.Context, c *api.Client) (done doneMsg) {
	var opened []int64
	var failed []string
	for _, id := range a.ids {
		agent, err := c.ResumeAgent(ctx, id)
		switch {
		case err == nil:
			opened = append(opened, agent.ID)
			done.agent = opened[0]
		case len(a.ids) == 1:
			done.err = err
		default:
			failed = append(failed, fmt.Sprintf("agent %d: %s", id, err))
		}
	}
	if len(opened) > 0 {
		done.said = fmt.Sprintf("%s opened again, as %s", words.Count(len(opened), "session"), listed("agent", opened))
	}
	if len(failed) > 0 {
		done.err = daemon.Errorf(daemon.KindInternal, "resume", "%s", words.Join("; ", append(failed, done.said)...))
	}
	return done
}
