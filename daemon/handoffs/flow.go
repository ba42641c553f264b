package handoffs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

// handoffRun is one look at one handoff, or at one of its heirs: the rows as they were read, and the other values that a step
// may use. A step reads and decides; [Flow.Advance] commits.
type handoffRun struct {
	d        *Flow
	ctx      context.Context
	began    time.Time // when the look began, by the monotonic clock
	now      time.Time
	h        *daemon.Handoff
	agent    *daemon.Agent // the outgoing agent
	settings daemon.HandoffSettings
	heir     *daemon.HandoffHeir // the heir that is looked at; the first one, if the look is at the handoff
	phase    daemon.Phase        // the phase of what is looked at
	phaseAt  time.Time           // when that phase began
	deadline **time.Time         // where the deadline of that phase stands
}

// runOf begins a look at a handoff of an agent.
func runOf(ctx context.Context, d *Flow, h *daemon.Handoff, a *daemon.Agent) *handoffRun {
	return &handoffRun{
		d: d, ctx: ctx, began: time.Now(), now: d.Now(), h: h, agent: a, settings: d.Settings().Handoff,
		heir: &h.Heirs[0], phase: h.Phase, phaseAt: h.PhaseAt, deadline: &h.Deadline,
	}
}

// of begins a look at one heir of the handoff.
func (r *handoffRun) of(heir *daemon.HandoffHeir) *handoffRun {
	one := *r
	one.heir, one.phase, one.deadline = heir, heir.Phase, &heir.Deadline
	if heir.PhaseAt != nil {
		one.phaseAt = *heir.PhaseAt
	}
	return &one
}

// Advance does the next step of an agent's open handoff. If it has written a row, it returns moved as true, and the lane
// looks again at once. Otherwise again says how long the lane may wait until it looks again.
func (d *Flow) Advance(ctx context.Context, a *daemon.Agent, h *daemon.Handoff) (moved bool, again time.Duration, err error) {
	r := runOf(ctx, d, h, a)
	out := r.decide()
	switch {
	case out.err != nil:
		return false, 0, fmt.Errorf("handoff %d: %s: %w", h.ID, h.Phase, out.err)
	case out.fail != nil:
		return true, 0, r.commitFailure(out)
	case out.next != "":
		return true, 0, r.move(out)
	}
	return r.stay(out)
}

// decide calls the step of the phase. If the phase has lasted too long and the step waits on, decide turns its
// outcome into the failure of the phase.
func (r *handoffRun) decide() outcome {
	if r.phase == "" {
		return r.startHeir("start")
	}
	s, ok := daemon.StepAt(r.phase)
	if !ok {
		return outcome{}
	}
	out := doPhase[s.At](r)
	if s.Limit == nil || out.extended || out.next != "" || out.fail != nil || engine.Retryable(out.err) {
		return out
	}
	left := r.d.TimeLeft(r.phaseAt, s.Limit(r.settings))
	if left <= 0 {
		return r.failed(s.Code, "%s (%s %s)%s", s.Says, s.LimitName, s.Limit(r.settings), r.paneShows())
	}
	out.again = engine.ShorterWait(out.again, left)
	return out
}

// move commits the move into the next phase.
func (r *handoffRun) move(out outcome) error {
	h, from := r.h, r.h.Phase
	s, ok := daemon.StepAt(from)
	if !ok || !daemon.LeadsTo(s.Next, out.next) {
		return fmt.Errorf("handoff %d: the table knows no move from %s to %s", h.ID, from, out.next)
	}
	c := out.with
	if out.next == daemon.Completed {
		if err := complete(r, &c); err != nil {
			return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, out.next, err)
		}
	}
	spent := h.EnterPhase(out.next, r.now, r.settings)
	c.Move = &daemon.Move{Handoff: h, From: from, Cause: out.cause}
	payload := map[string]any{
		"from": from, "phase_ms": spent, "cause": out.cause, "persona": h.Persona, "successor_id": h.SuccessorID, "file_path": h.FilePath,
	}
	e := r.d.Event(event.Of("handoff", out.next), &h.AgentID, &h.ID, payload)
	if out.next == daemon.Completed {
		payload["message"], payload["mode"], payload["total_ms"] = views.CompletedWords(h), h.Mode, h.Metrics.TotalMS
		e.Payload, e.Notice = event.Payload(payload), event.NoticeCompleted
	}
	c.Events = append(c.Events, e)
	if err := r.commit(&c); err != nil {
		return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, out.next, err)
	}
	r.d.Log.Info("handoff moved", "handoff_id", h.ID, "agent_id", h.AgentID, "from", string(from), "to", string(out.next), "cause", out.cause)
	if out.then != nil {
		out.then()
	}
	if out.next == daemon.Completed {
		r.d.logHandoff(h, "handoff_completed", slog.LevelInfo, "")
		r.tellPane()
	}
	return nil
}

// commitFailure commits the move to failed, with its event, which is an alert, in one transaction.
func (r *handoffRun) commitFailure(out outcome) error {
	h, from := r.h, r.h.Phase
	spent := h.EnterPhase(daemon.Failed, r.now, r.settings)
	h.Error = out.fail
	c := out.with
	c.Move = &daemon.Move{Handoff: h, From: from, Cause: string(out.fail.Code)}
	e := r.d.Event(event.HandoffFailed, &h.AgentID, &h.ID, map[string]any{
		"phase": out.fail.Phase, "phase_ms": spent, "code": out.fail.Code, "message": out.fail.Words() + waitingMessages(r), "persona": h.Persona,
	})
	e.Alert, e.Cause = true, r.endCause(from)
	c.Events = append(c.Events, e)
	if err := r.commit(&c); err != nil {
		return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, daemon.Failed, err)
	}
	if out.then != nil {
		out.then()
	}
	if h.InPlace && daemon.BeforeRecord(from) && !r.agent.Active() {
		r.d.CleanUp(r.ctx, r.agent) // the dead pane was kept for the successor
	}
	r.d.logHandoff(h, "handoff_failed", slog.LevelWarn, string(out.fail.Code))
	r.tellPane()
	return nil
}

// stay leaves the handoff in its phase and commits what it waits for now, if that is new. again says how long the lane may wait until
// it looks again: at most until the phase's deadline.
func (r *handoffRun) stay(out outcome) (moved bool, again time.Duration, err error) {
	h := r.h
	again = out.again
	if out.hold.Kind == daemon.HoldNotReady && r.d.TimeSpent(h.PhaseAt) < engine.NoteAfter {
		out.hold = h.Hold.Value() // keep the old one: a composer is often not ready for a moment
	}
	same := h.Hold.Same(&out.hold)
	if same && !out.wrote && len(out.with.Agents) == 0 && len(out.with.Deliveries) == 0 {
		return false, again, nil
	}
	c := out.with
	if !same && !out.hold.None() {
		e := r.d.Event(event.HandoffWaiting, &h.AgentID, &h.ID, map[string]any{"phase": h.Phase, "message": r.waitingWords(out)})
		e.Alert = out.alert
		c.Events = append(c.Events, e)
	}
	h.WaitFor(out.hold, r.now)
	c.Move = &daemon.Move{Handoff: h, From: h.Phase}
	if err := r.commit(&c); err != nil {
		return false, 0, fmt.Errorf("handoff %d: %s: %w", h.ID, h.Phase, err)
	}
	return true, 0, nil
}

// commit commits a change of the handoff, and wakes the lanes that may wait for that change.
func (r *handoffRun) commit(c *daemon.Change) error {
	for _, e := range c.Events {
		if e.PipelineID == nil {
			e.For(r.agent.PipelineID, r.agent.StepID)
		}
	}
	err := r.d.Commit(r.ctx, c)
	r.d.WakeKin(r.agent)
	return err
}

// stayFor is the outcome of a step that waits for something that does not wake the lane. The lane looks again after t.
func stayFor(t time.Duration, hold daemon.Hold) outcome {
	return outcome{again: t, hold: hold, alert: !hold.None() && hold.Kind.Row().Alert}
}

// MoveTo is the outcome of a step that leads to phase p. The rows in with are committed together with the move.
func moveTo(p daemon.Phase, cause string, with daemon.Change) outcome {
	return outcome{next: p, cause: cause, with: with}
}

// outcome is what a step decides: move (next), fail (fail), try again (err), or stay (none of them).
type outcome struct {
	next  daemon.Phase    // the phase to move to; "": none
	cause string          // moving: the reason, for the row of the transition
	with  daemon.Change   // rows to commit together with the move, the failure or the new hold
	then  func()          // moving or failing: called after the commit
	fail  *daemon.Failure // failing: the failure
	err   error           // the step could not decide; it is tried again

	hold     daemon.Hold   // staying: what the handoff waits for
	alert    bool          // staying: only a person can end the wait
	wrote    bool          // staying: the step changed the handoff's row
	extended bool          // staying: the phase's limit does not count now
	again    time.Duration // staying: look again after this time, if nothing wakes the lane earlier
}

// hasSuccessor reports whether a handoff in phase p has a successor.
func hasSuccessor(p daemon.Phase) bool {
	s, _ := daemon.StepAt(p)
	return daemon.Target(s.Retry, daemon.OnSuccessorThere) != ""
}

// doPhase holds what is done in each open phase.
var doPhase map[daemon.Phase]func(*handoffRun) outcome

// init fills doPhase. An initial value of the variable could not name functions that read it.
func init() {
	doPhase = map[daemon.Phase]func(*handoffRun) outcome{
		daemon.Requested:            (*handoffRun).request,
		daemon.Instructing:          (*handoffRun).instruct,
		daemon.AwaitingDocument:     (*handoffRun).awaitDocument,
		daemon.Generating:           (*handoffRun).generate,
		daemon.Verifying:            (*handoffRun).verify,
		daemon.Recorded:             (*handoffRun).recorded,
		daemon.BriefingHeirs:        (*handoffRun).briefHeirs,
		daemon.ShuttingDown:         (*handoffRun).shutDown,
		daemon.Spawning:             (*handoffRun).spawn,
		daemon.AwaitingRegistration: (*handoffRun).awaitRegistration,
		daemon.InjectingSkill:       (*handoffRun).injectSkill,
		daemon.Briefing:             (*handoffRun).brief,
	}
}

// tellPane shows those who look at the outgoing agent's pane how the handoff has ended that was requested there, and those who
// look at a pane of their own also that a handoff is done that was requested elsewhere. The agent's runtime may have ended, and
// a shell run in the pane, so tellPane types nothing. Those who were attached to an agent of our own server look at the
// successor's pane by then. tellPane only logs an error: the handoff's end is an event of which the operator is told as well.
func (r *handoffRun) tellPane() {
	h, a := r.h, r.agent
	said := views.EndWords(h)
	if said == "" || h.Reason != ReasonCommand && (a.Managed || h.Phase != daemon.Completed) {
		return
	}
	if a.Managed {
		if next, _ := r.successor(); next != nil && next.HasPane() {
			a = next
		}
	}
	if !a.HasPane() {
		return
	}
	term, err := r.d.TerminalOf(a)
	if err == nil {
		_, err = term.ShowMessage(r.ctx, a.Ref(), said)
	}
	if err != nil {
		r.d.Log.Debug("the pane of /handoff was not told", "handoff_id", h.ID, "agent_id", a.ID, "error", err)
	}
}

// Flow passes work on: from the instruction to the successor's first prompt. Its methods are safe for concurrent use.
type Flow struct {
	*agents.Supervisor
	assemblies chan struct{} // holds a value for each assembly that runs
	memories   engine.Memory[flowMemory]
	Forks      engine.Memory[ForkMemory] // of agents that may have ended: EndFork drops them
}

// New makes a flow on a supervisor.
func New(a *agents.Supervisor) *Flow {
	if a.Extract == nil {
		a.Extract = underHeadings
	}
	f := &Flow{Supervisor: a, assemblies: make(chan struct{}, maxAssemblies)}
	engine.Remember(a.Engine, &f.memories)
	return f
}

// flowMemory is what a Flow remembers about one agent: see [engine.Memory].
type flowMemory struct {
	// read is how far the transcript was read for whether the agent has read its handoff; nil: not at all. After a restart
	// the daemon reads it from its beginning.
	read *readSoFar
}
