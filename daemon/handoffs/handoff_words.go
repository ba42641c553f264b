package handoffs

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
)

// busy returns what the instruction waits for.
func (r *handoffRun) busy() daemon.Hold {
	switch daemon.WhyBusy(r.agent) {
	case daemon.HoldTurn:
		return daemon.HoldBusy.Hold()
	case daemon.HoldDialog:
		return daemon.HoldDialog.Hold()
	}
	return r.agent.Hold.Value()
}

// longWait is how long the outgoing agent may put off its end before the operator is told. The phase has no deadline,
// because the daemon ends no agent whose work is not written down.
const longWait = time.Minute

// stayLong waits like stayFor. Once the phase has lasted longer than longWait, the outcome is an alert as well. A dialog has its own alert,
// which comes at once.
func (r *handoffRun) stayLong(t time.Duration, hold daemon.Hold) outcome {
	out := stayFor(t, hold)
	if !hold.None() && hold.Kind != daemon.HoldDialog && r.d.TimeSpent(r.h.PhaseAt) > longWait {
		out.hold.LookAt, out.alert = r.agent.ID, true
	}
	return out
}

// PaneShows says, for the end of a failure's sentence, what the pane of the phase's agent shows.
func (r *handoffRun) paneShows() string {
	if a := r.agentIn(r.phase); a != nil {
		return r.d.Shows(r.ctx, a).Words()
	}
	return ""
}

// agentIn returns the agent that phase p works with: the successor, or the outgoing agent; nil, if the successor's row
// can't be read.
func (r *handoffRun) agentIn(p daemon.Phase) *daemon.Agent {
	if hasSuccessor(p) {
		next, _ := r.successor()
		return next
	}
	return r.agent
}

func (r *handoffRun) endReason(a *daemon.Agent) string {
	if a.EndReason == nil {
		return "unknown"
	}
	return event.EndWords(*a.EndReason)
}

// endCause returns the cause of the end of the agent that phase in needs; "", if that agent has not ended or its
// cause is not known.
func (r *handoffRun) endCause(in daemon.Phase) string {
	if a := r.agentIn(in); a != nil {
		return r.d.EndCauseOf(a)
	}
	return ""
}

// failed makes the outcome of a failure from a sentence that says what happened. It adds what to do next, by the phase.
func (r *handoffRun) failed(code daemon.Code, format string, args ...any) outcome {
	if r.h.Mode != daemon.ModeAgent && daemon.BeforeRecord(r.phase) {
		return r.notGenerated(code, format, args...)
	}
	msg := fmt.Sprintf(format, args...)
	hint := fmt.Sprintf("look at the agent with `understudy agent attach %d`, then `understudy handoff retry %d`", r.agent.ID, r.h.ID)
	switch {
	case r.phase == daemon.ShuttingDown && r.agent.Active():
		hint = fmt.Sprintf("end the agent yourself or with `understudy agent stop --force %d`, then `understudy handoff retry %d`", r.agent.ID, r.h.ID)
	case !daemon.BeforeRecord(r.phase):
		hint = fmt.Sprintf("the record is kept; `understudy handoff retry %d` goes on from here", r.h.ID)
	case code == data.DocumentSecret:
		hint = fmt.Sprintf("`understudy handoff retry %[1]d` has it written again, `understudy handoff retry %[1]d --force` passes it on as it is", r.h.ID)
	case r.agent.Active() && r.agent.Hold.Is(daemon.HoldInBackground):
		hint = fmt.Sprintf("take its session back into a pane with `understudy agent stop %[1]d` and then `understudy agent resume %[1]d`, and hand over the agent that this starts", r.agent.ID)
	case !r.agent.Active():
		hint = fmt.Sprintf("write the document to %s yourself and `understudy handoff retry %d`, or open the session again with `understudy agent resume %d`", r.h.FilePath, r.h.ID, r.agent.ID)
	}
	return outcome{fail: &daemon.Failure{Phase: r.phase, Code: code, Message: msg + "; " + hint + "."}}
}

// waitingWords says what the handoff waits for. If only a person can end the wait, it adds the command to begin with.
func (r *handoffRun) waitingWords(out outcome) string {
	if !out.alert {
		return out.hold.Words()
	}
	words := fmt.Sprintf("Handoff %d: %s", r.h.ID, out.hold.Words())
	switch {
	case out.hold.LookAt != 0: // its words say it
	case out.hold.Kind == daemon.HoldDialog:
		words += fmt.Sprintf(": `understudy agent attach %d`", r.agent.ID)
	case out.hold.Is(daemon.HoldWorkedOn, daemon.HoldWorkedAside):
		words += fmt.Sprintf(": `understudy handoff retry %d` or `understudy agent stop %d`", r.h.ID, r.agent.ID)
	}
	return words + "."
}

// noTurnRuns reports whether the runtime's registry has said for a while that the agent is idle. For a runtime that has
// none, the reports of its server say so.
func (r *handoffRun) noTurnRuns() bool {
	if r.d.RuntimeOf(r.agent).Can.Registers == runtimes.RegistersByServer {
		return r.agent.State == daemon.Idle && r.d.TimeSpent(r.agent.StateAt) >= sight.Settle
	}
	return r.d.QuietFor(r.agent.ID, sight.Settle)
}

// contextChanged is the failure if the context file is not the recorded one: the successor must not start from it.
func (r *handoffRun) contextChanged() outcome {
	return r.failed(daemon.CodeContextChanged, "The context file %s is not the one that was recorded", *r.h.ContextPath)
}
