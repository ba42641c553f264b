package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// handoffRun is one look at one handoff, or at one of its heirs: the rows as they were read, and the other values that a step
// may use. A step reads and decides; [Daemon.advance] commits.
type handoffRun struct {
	d        *Daemon
	ctx      context.Context
	began    time.Time // when the look began, by the monotonic clock
	now      time.Time
	h        *Handoff
	agent    *Agent // the outgoing agent
	settings HandoffSettings
	heir     *HandoffHeir // the heir that is looked at; the first one, if the look is at the handoff
	phase    Phase        // the phase of what is looked at
	phaseAt  time.Time    // when that phase began
	deadline **time.Time  // where the deadline of that phase stands
}

// runOf begins a look at a handoff of an agent.
func runOf(ctx context.Context, d *Daemon, h *Handoff, a *Agent) *handoffRun {
	return &handoffRun{
		d: d, ctx: ctx, began: time.Now(), now: d.now(), h: h, agent: a, settings: d.Settings().Handoff,
		heir: &h.Heirs[0], phase: h.Phase, phaseAt: h.PhaseAt, deadline: &h.Deadline,
	}
}

// of begins a look at one heir of the handoff.
func (r *handoffRun) of(heir *HandoffHeir) *handoffRun {
	one := *r
	one.heir, one.phase, one.deadline = heir, heir.Phase, &heir.Deadline
	if heir.PhaseAt != nil {
		one.phaseAt = *heir.PhaseAt
	}
	return &one
}

// advance does the next step of an agent's open handoff. If it has written a row, it returns moved as true, and the lane
// looks again at once. Otherwise again says how long the lane may wait until it looks again.
func (d *Daemon) advance(ctx context.Context, a *Agent, h *Handoff) (moved bool, again time.Duration, err error) {
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
	s, ok := stepAt(r.phase)
	if !ok {
		return outcome{}
	}
	out := s.do(r)
	if s.limit == nil || out.extended || out.next != "" || out.fail != nil || retryable(out.err) {
		return out
	}
	left := r.d.timeLeft(r.phaseAt, s.limit(r.settings))
	if left <= 0 {
		return r.failed(s.code, "%s (%s %s)%s", s.says, s.limitName, s.limit(r.settings), r.paneShows())
	}
	out.again = ShorterWait(out.again, left)
	return out
}

// openHandoff returns the open handoff of an outgoing agent, if there is one.
func (d *Daemon) openHandoff(ctx context.Context, agentID int64) (Handoff, bool, error) {
	list, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return Handoff{}, false, err
	}
	return list[0], true, nil
}

// move commits the move into the next phase.
func (r *handoffRun) move(out outcome) error {
	h, from := r.h, r.h.Phase
	s, ok := stepAt(from)
	if !ok || !LeadsTo(s.next, out.next) {
		return fmt.Errorf("handoff %d: the table knows no move from %s to %s", h.ID, from, out.next)
	}
	c := out.with
	if out.next == Completed {
		if err := r.complete(&c); err != nil {
			return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, out.next, err)
		}
	}
	spent := h.enterPhase(out.next, r.now, r.settings)
	c.Move = &Move{Handoff: h, From: from, Cause: out.cause}
	payload := map[string]any{
		"from": from, "phase_ms": spent, "cause": out.cause, "persona": h.Persona, "successor_id": h.SuccessorID, "file_path": h.FilePath,
	}
	e := r.d.event(event.Of("handoff", out.next), &h.AgentID, &h.ID, payload)
	if out.next == Completed {
		payload["message"], payload["mode"], payload["total_ms"] = h.completedWords(), h.Mode, h.Metrics.TotalMS
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
	if out.next == Completed {
		r.d.logHandoff(h, "handoff_completed", slog.LevelInfo, "")
		r.tellPane()
	}
	return nil
}

// commitFailure commits the move to failed, with its event, which is an alert, in one transaction.
func (r *handoffRun) commitFailure(out outcome) error {
	h, from := r.h, r.h.Phase
	spent := h.enterPhase(Failed, r.now, r.settings)
	h.Error, h.CompletedAt = out.fail, &r.now
	c := out.with
	c.Move = &Move{Handoff: h, From: from, Cause: string(out.fail.Code)}
	e := r.d.event(event.HandoffFailed, &h.AgentID, &h.ID, map[string]any{
		"phase": out.fail.Phase, "phase_ms": spent, "code": out.fail.Code, "message": out.fail.words() + r.waitingMessages(), "persona": h.Persona,
	})
	e.Alert, e.Cause = true, r.endCause(from)
	c.Events = append(c.Events, e)
	if err := r.commit(&c); err != nil {
		return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, Failed, err)
	}
	if out.then != nil {
		out.then()
	}
	if h.InPlace && BeforeRecord(from) && !r.agent.Active() {
		r.d.cleanUp(r.ctx, r.agent) // the dead pane was kept for the successor
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
	if out.hold.Kind == HoldNotReady && r.d.timeSpent(h.PhaseAt) < NoteAfter {
		out.hold = h.Hold.value() // keep the old one: a composer is often not ready for a moment
	}
	same := h.Hold.Same(&out.hold)
	if same && !out.wrote && len(out.with.Agents) == 0 && len(out.with.Deliveries) == 0 {
		return false, again, nil
	}
	c := out.with
	if !same && !out.hold.none() {
		e := r.d.event(event.HandoffWaiting, &h.AgentID, &h.ID, map[string]any{"phase": h.Phase, "message": r.waitingWords(out)})
		e.Alert = out.alert
		c.Events = append(c.Events, e)
	}
	h.waitFor(out.hold, r.now)
	c.Move = &Move{Handoff: h, From: h.Phase}
	if err := r.commit(&c); err != nil {
		return false, 0, fmt.Errorf("handoff %d: %s: %w", h.ID, h.Phase, err)
	}
	return true, 0, nil
}

// commit commits a change of the handoff, and wakes the lanes that may wait for that change.
func (r *handoffRun) commit(c *Change) error {
	for _, e := range c.Events {
		if e.PipelineID == nil {
			e.For(r.agent.PipelineID, r.agent.StepID)
		}
	}
	err := r.d.commit(r.ctx, c)
	r.d.wakeKin(r.agent)
	return err
}

// enterPhase puts the handoff into phase p and sets the deadline. It adds the time in the previous phase to the handoff's
// metrics, and returns that time in milliseconds; 0, if the handoff was not open.
func (h *Handoff) enterPhase(p Phase, now time.Time, settings HandoffSettings) (spent float64) {
	if h.Metrics.Phases == nil {
		h.Metrics.Phases = map[Phase]int64{}
	}
	if h.Open() { // the time between a failure and its retry belongs to no phase
		in := Elapsed(h.PhaseAt, now)
		h.Metrics.Phases[h.Phase] += in.Milliseconds()
		spent = float64(in.Microseconds()) / 1000
	}
	h.Phase, h.PhaseAt, h.Deadline = p, now, nil
	h.waitFor(Hold{}, now)
	if s, ok := stepAt(p); ok && s.limit != nil {
		at := now.Add(s.limit(settings))
		h.Deadline = &at
	}
	if h.StartedAt == nil && p != Cancelled {
		h.StartedAt = &now
	}
	if !h.Open() {
		h.Metrics.TotalMS = Elapsed(h.CreatedAt, now).Milliseconds()
	}
	h.repeatHeir()
	return spent
}

// repeatHeir keeps the row of an only heir, whose phases are those of the handoff, and the handoff's row alike. The daemon of the
// last release knows the handoff's row alone: SuccessorID and the DeliveryID of the injection prompt are written there for it.
func (h *Handoff) repeatHeir() {
	heir, at := &h.Heirs[0], h.PhaseAt
	if h.HeirsFirst() || heir.AgentID == nil {
		return
	}
	h.SuccessorID, h.DeliveryID = heir.AgentID, heir.DeliveryID
	heir.Phase, heir.PhaseAt = h.Phase, &at
	if h.Phase == Completed {
		heir.BriefedAt = &at
	}
}

// stayFor is the outcome of a step that waits for something that does not wake the lane. The lane looks again after t.
func stayFor(t time.Duration, hold Hold) outcome {
	return outcome{again: t, hold: hold, alert: !hold.none() && hold.Kind.row().alert}
}

// moveTo is the outcome of a step that leads to phase p. The rows in with are committed together with the move.
func moveTo(p Phase, cause string, with Change) outcome {
	return outcome{next: p, cause: cause, with: with}
}

// retryable reports whether err only means that another writer changed the row first. Read the row again, and decide anew.
func retryable(err error) bool { return errors.Is(err, ErrMoved) }

// step is one row of the table of phases. docs/states.md is drawn from that table.
type step struct {
	at  Phase
	who actor
	// acts says that the step runs the effect in does; otherwise the step waits for the condition in does.
	acts bool
	does string
	next []way[Phase]
	// cancel says that a person can cancel the handoff in this phase. A handoff can be cancelled until the document is
	// recorded, because before its record nothing has been shut down.
	cancel bool
	retry  []way[Phase] // the phases in which a retry goes on after a failure in this phase
	// limit is how long the phase may take. If the phase takes longer, the handoff fails with code and says. nil: the step
	// itself checks its limits.
	limit     func(HandoffSettings) time.Duration
	limitName string
	code      Code
	says      string
	do        func(*handoffRun) outcome
}

// outcome is what a step decides: move (next), fail (fail), try again (err), or stay (none of them).
type outcome struct {
	next  Phase    // the phase to move to; "": none
	cause string   // moving: the reason, for the row of the transition
	with  Change   // rows to commit together with the move, the failure or the new hold
	then  func()   // moving or failing: called after the commit
	fail  *Failure // failing: the failure
	err   error    // the step could not decide; it is tried again

	hold     Hold          // staying: what the handoff waits for
	alert    bool          // staying: only a person can end the wait
	wrote    bool          // staying: the step changed the handoff's row
	extended bool          // staying: the phase's limit does not count now
	again    time.Duration // staying: look again after this time, if nothing wakes the lane earlier
}

// handoffSteps is the table of a handoff's phases, in order. init fills it.
var handoffSteps []step

// init fills handoffSteps. An initial value of the variable could not name steps that read handoffSteps.
func init() {
	verifyAgain := []way[Phase]{{to: Verifying}}
	exitAgain := []way[Phase]{{to: ShuttingDown}}
	bySuccessor := func(there Phase) []way[Phase] {
		return []way[Phase]{{Spawning, onSuccessorGone}, {there, onSuccessorThere}}
	}
	handoffSteps = []step{
		{at: Requested, who: theDaemon, acts: true, does: "make the folder; mode agent: queue the instruction",
			next: []way[Phase]{{Instructing, inModeAgent}, {Generating, inModeGenerate}}, cancel: true, retry: verifyAgain,
			do: (*handoffRun).request},
		{at: Instructing, who: outgoingAgent, does: "the runtime confirms the instruction (typed to an idle agent; the answer to the Stop of a busy one)",
			next: []way[Phase]{{to: AwaitingDocument}}, cancel: true, retry: verifyAgain,
			limitName: "busy_timeout, then ack_timeout", do: (*handoffRun).instruct},
		{at: AwaitingDocument, who: outgoingAgent, does: "Stop of the turn that took the instruction; or, without a hook, the document is there and the agent idle",
			next: []way[Phase]{{to: Verifying}}, cancel: true, retry: verifyAgain, limitName: "document_timeout",
			limit: func(s HandoffSettings) time.Duration { return s.DocumentTimeout },
			code:  CodeDocumentTimeout, says: "The agent did not finish its handoff document in time",
			do: (*handoffRun).awaitDocument},
		{at: Generating, who: aFork, does: "mode generate: a forked one-shot of the agent's session writes the document, once the agent is idle",
			next: []way[Phase]{{to: Verifying}}, cancel: true, retry: verifyAgain,
			limitName: "busy_timeout until the agent is idle, then document_timeout", do: (*handoffRun).generate},
		{at: Verifying, who: theDaemon, acts: true, does: "check the document, extract its fields, assemble and write the context file",
			next:   []way[Phase]{{to: Recorded}, {Instructing, onNoDocument}, {Generating, onNoDocument}},
			cancel: true, retry: verifyAgain, do: (*handoffRun).verify},
		{at: Recorded, who: theDaemon, acts: true, does: "the record is committed; nothing has been shut down before",
			next:  []way[Phase]{{ShuttingDown, onOneSuccessor}, {BriefingHeirs, onHeirsFirst}},
			retry: []way[Phase]{{to: Recorded}}, do: (*handoffRun).recorded},
		{at: BriefingHeirs, who: theSuccessor, does: "every heir is briefed; each goes from spawning to briefing by itself, on its own row, with the limits of these phases, and one that fails holds up no other",
			next: []way[Phase]{{ShuttingDown, onEndNow}, {Completed, onKeep}}, retry: []way[Phase]{{to: BriefingHeirs}},
			limitName: "those of each heir's phases", do: (*handoffRun).briefHeirs},
		{at: ShuttingDown, who: outgoingAgent, does: "the outgoing agent's process is gone; it is asked once it is idle, has no background tasks, has no text without a verdict, and was given no work after the instruction",
			next: []way[Phase]{{Spawning, onOneSuccessor}, {Completed, onBriefed}, {Verifying, onWorkedOn}}, retry: exitAgain,
			limitName: "exit_timeout, then the stop ladder", do: (*handoffRun).shutDown},
		{at: Spawning, who: theDaemon, does: "the successor's pane is alive; its row was committed in the move that led here",
			next: []way[Phase]{{to: AwaitingRegistration}}, retry: bySuccessor(AwaitingRegistration), limitName: "30 s",
			limit: func(HandoffSettings) time.Duration { return spawnLimit },
			code:  CodeSpawnTimeout, says: "The successor's pane did not come up in time",
			do: (*handoffRun).spawn},
		{at: AwaitingRegistration, who: theSuccessor, does: "SessionStart of that launch; a person may have to answer dialogs before it: each may take an hour, and the limit begins anew with the last answer",
			next: []way[Phase]{{to: InjectingSkill}}, retry: bySuccessor(AwaitingRegistration), limitName: "registration_timeout",
			limit: func(s HandoffSettings) time.Duration { return s.RegistrationTimeout },
			code:  CodeRegistrationTimeout, says: "The successor did not register in time",
			do: (*handoffRun).awaitRegistration},
		{at: InjectingSkill, who: theSuccessor, does: "the persona's skill is in place",
			next: []way[Phase]{{to: Briefing}}, retry: bySuccessor(AwaitingRegistration), limitName: "registration_timeout",
			limit: func(s HandoffSettings) time.Duration { return s.RegistrationTimeout },
			code:  CodeSkillTimeout, says: "The persona's skill was not taken in time",
			do: (*handoffRun).injectSkill},
		{at: Briefing, who: theSuccessor, does: "the runtime confirms the injection prompt",
			next: []way[Phase]{{to: Completed}}, retry: bySuccessor(Briefing),
			limitName: "registration_timeout until the composer is ready, then ack_timeout", do: (*handoffRun).brief},
	}
}

// spawnLimit is how long the daemon may take to make a pane. Usually that takes milliseconds.
const spawnLimit = 30 * time.Second

// stepAt returns the row of the table for phase p; false, if a handoff ends in p.
func stepAt(p Phase) (step, bool) {
	for _, s := range handoffSteps {
		if s.at == p {
			return s, true
		}
	}
	return step{}, false
}

// BeforeRecord reports whether a handoff in phase p has no record yet. Without a record, nothing has been shut down.
func BeforeRecord(p Phase) bool {
	s, _ := stepAt(p)
	return s.cancel
}

// hasSuccessor reports whether a handoff in phase p has a successor.
func hasSuccessor(p Phase) bool {
	s, _ := stepAt(p)
	return Target(s.retry, onSuccessorThere) != ""
}

// The conditions of the moves from a phase to several others.
const (
	inModeAgent      = "mode agent"
	inModeGenerate   = "mode generate"
	onOneSuccessor   = "one successor"
	onHeirsFirst     = "several heirs, or the agent is kept"
	onEndNow         = "all are briefed"
	onKeep           = "all are briefed, and the agent is kept"
	onBriefed        = "the heirs are briefed; or a retry lets the agent live, which was given work"
	onNoDocument     = "retry without an acceptable document"
	onWorkedOn       = "retry where the agent was given work that the document may not mention"
	onSuccessorGone  = "the successor is gone"
	onSuccessorThere = "the successor is there"
)
