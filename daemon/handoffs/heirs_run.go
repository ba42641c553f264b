package handoffs

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// briefHeirs takes each heir through its phases, one write at a time, and decides when all are over. An heir that fails
// holds up no other. The handoff fails when none is under way any more; a retry then starts what is missing.
func (r *handoffRun) briefHeirs() outcome {
	var err error
	var again time.Duration
	underWay := false
	for i := range r.h.Heirs {
		heir := &r.h.Heirs[i]
		if heir.Over() {
			continue
		}
		underWay = true
		one := r.of(heir)
		out := one.decide()
		switch {
		case out.err != nil:
			if err == nil {
				err = fmt.Errorf("heir %d: %w", i+1, out.err)
			}
		case out.next != "" || out.fail != nil || one.waitsAnew(&out):
			return r.writeHeir(i, out)
		}
		again = engine.ShorterWait(again, out.again)
	}
	switch {
	case err != nil:
		return outcome{err: err}
	case underWay:
		return outcome{again: again, hold: r.h.Hold.Value()}
	}
	return r.heirsOver()
}

// notStartable returns the failure if err says that an heir can't be started as it is asked for; else nil.
func (r *handoffRun) notStartable(err error) *daemon.Failure {
	told := daemon.RefusalIn(err)
	if told == nil {
		return nil
	}
	return r.failed(daemon.CodeSpawnFailed, "The successor could not be started: %s", words.TrimDot(told.Message)).fail
}

// cannotStart returns the outcome if err, which [CanStart] has returned, says that no successor can be started; else nil. The
// outgoing agent goes on, if it has not ended.
func (r *handoffRun) cannotStart(err error) *outcome {
	told := daemon.RefusalIn(err)
	switch {
	case err == nil:
		return nil
	case told == nil:
		return &outcome{err: err}
	}
	out := r.failed(told.Code, "%s", words.TrimDot(told.Message))
	if r.agent.Active() && out.fail != nil {
		out.fail.Message = fmt.Sprintf("%s. Agent %d was not ended, and the record is kept: put that right, then `understudy handoff retry %d`.", words.TrimDot(told.Message), r.agent.ID, r.h.ID)
	}
	return &out
}

// created makes the event of a successor's row.
func (r *handoffRun) created(next *daemon.Agent) *event.Event {
	return r.d.Event(event.AgentCreated, &next.ID, &r.h.ID, map[string]any{
		"persona": next.Persona, "previous_agent_id": next.PreviousAgentID, "generation": next.Generation, "name": next.Name,
	})
}

// waitsAnew reports whether what an heir waits for has to be written. It leaves out that a composer is not ready, which
// is often so for a moment.
func (r *handoffRun) waitsAnew(out *outcome) bool {
	if out.hold.Kind == daemon.HoldNotReady && r.d.TimeSpent(r.phaseAt) < engine.NoteAfter {
		out.hold = r.heir.Hold.Value()
	}
	return !r.heir.Hold.Same(&out.hold) || out.wrote || len(out.with.Agents) > 0 || len(out.with.Deliveries) > 0
}

// writeHeir turns what was decided about one heir into an outcome of the handoff, which stays in its phase.
func (r *handoffRun) writeHeir(i int, out outcome) outcome {
	heir, from := &r.h.Heirs[i], r.h.Heirs[i].Phase
	about := func(typ event.Type, payload map[string]any) *event.Event {
		payload["heir"], payload["persona"], payload["successor_id"] = i+1, heir.Persona, heir.AgentID
		return r.d.Event(typ, &r.h.AgentID, &r.h.ID, payload)
	}
	switch {
	case out.fail != nil:
		heir.EnterPhase(daemon.Failed, r.now, r.settings)
		heir.Error = out.fail
		heir.Error.Phase = cmp.Or(heir.Error.Phase, daemon.Spawning) // it was not started
		e := about(event.HandoffHeirFailed, map[string]any{"phase": out.fail.Phase, "code": out.fail.Code, "message": r.heirFailed(heir)})
		e.Alert = r.otherUnderWay(i) // else the handoff itself fails at once, with an alert of its own
		out.with.Events = append(out.with.Events, e)
	case out.next != "":
		heir.EnterPhase(out.next, r.now, r.settings)
		out.with.Events = append(out.with.Events, about(event.HandoffHeirMoved, map[string]any{"from": from, "phase": out.next, "cause": out.cause}))
	default:
		heir.WaitFor(out.hold, r.now)
	}
	if i == 0 {
		r.h.SuccessorID = heir.AgentID
	}
	return outcome{with: out.with, wrote: true, hold: r.heirsHold(), alert: out.alert, again: out.again}
}

// otherUnderWay reports whether an heir other than the i-th is neither briefed nor failed.
func (r *handoffRun) otherUnderWay(i int) bool {
	for j := range r.h.Heirs {
		if j != i && !r.h.Heirs[j].Over() {
			return true
		}
	}
	return false
}

// heirsHold returns what the heirs wait for.
func (r *handoffRun) heirsHold() daemon.Hold {
	var holds []string
	for i := range r.h.Heirs {
		if heir := &r.h.Heirs[i]; heir.Hold != nil && !heir.Over() {
			holds = append(holds, views.HeirWords(heir)+": "+heir.Hold.Words())
		}
	}
	if holds == nil {
		return daemon.Hold{}
	}
	return daemon.Hold{Kind: daemon.HoldHeirs, HoldDetail: daemon.HoldDetail{Says: strings.Join(holds, "; ")}}
}

// heirFailed says why an heir failed, and what to do next.
func (r *handoffRun) heirFailed(heir *daemon.HandoffHeir) string {
	return fmt.Sprintf("Heir %s of handoff %d: %s", views.HeirWords(heir), r.h.ID, heir.Error.Words())
}

// heirsOver decides once no heir is under way any more.
func (r *handoffRun) heirsOver() outcome {
	var failed []*daemon.HandoffHeir
	for i := range r.h.Heirs {
		if heir := &r.h.Heirs[i]; heir.Phase == daemon.Failed {
			failed = append(failed, heir)
		}
	}
	switch {
	case len(failed) > 0:
		said := make([]string, len(failed))
		for i, heir := range failed {
			said[i] = r.heirFailed(heir)
		}
		return outcome{fail: &daemon.Failure{Phase: daemon.BriefingHeirs, Code: failed[0].Error.Code, Message: strings.Join(said, " ")}}
	case r.h.Keep:
		return moveTo(daemon.Completed, "all heirs are briefed", daemon.Change{})
	}
	return moveTo(daemon.ShuttingDown, "all heirs are briefed", daemon.Change{})
}

// handedOut completes the handoff of an agent that has ended after its heirs were briefed.
func (r *handoffRun) handedOut() outcome {
	out := moveTo(daemon.Completed, "the agent is gone: "+r.endReason(r.agent), daemon.Change{})
	out.then = func() { // the dead pane was kept: people may be attached to it
		for _, id := range r.h.SuccessorIDs() {
			if next, err := r.d.Store.Agent(r.ctx, id); err == nil && next.Active() && next.HasPane() && r.agent.Managed {
				r.d.PassOn(r.ctx, r.agent, &next)
				return
			}
		}
		r.d.CleanUp(r.ctx, r.agent)
	}
	return out
}

// heirsAgain prepares the heirs that are not briefed for a retry: one whose agent is there goes on, any other is started
// anew.
func (r *handoffRun) heirsAgain() (c daemon.Change, err error) {
	for i := range r.h.Heirs {
		heir := &r.h.Heirs[i]
		if heir.Phase != daemon.Failed {
			continue
		}
		to, _, again, err := again(r.of(heir), heir.Error.Phase)
		if err != nil {
			return c, err
		}
		c.Deliveries, c.NewDeliveries = append(c.Deliveries, again.Deliveries...), append(c.NewDeliveries, again.NewDeliveries...)
		if to == daemon.Spawning {
			*heir = daemon.HandoffHeir{Heir: heir.Heir}
			continue
		}
		heir.Error = nil
		heir.EnterPhase(to, r.now, r.settings)
	}
	return c, nil
}

// letLive returns the change that completes a handoff whose agent was given work after its heirs were briefed: the agent
// lives on. It writes the agent's row as well: if the agent's end is committed at the same time, one of the two commits
// gets ErrMoved.
func (r *handoffRun) letLive() (*daemon.Change, error) {
	h, a := r.h, r.agent
	if !a.Active() || a.StopAskedAt != nil {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentEnding, "Agent %d is being ended: its handoff is completed then", a.ID)
	}
	from := h.Phase
	spent := h.EnterPhase(daemon.Completed, r.now, r.settings)
	h.Keep = true
	e := r.d.Event(event.Of("handoff", daemon.Completed), &h.AgentID, &h.ID, map[string]any{
		"from": from, "phase_ms": spent, "cause": "retry", "persona": h.Persona, "successor_id": h.SuccessorID, "file_path": h.FilePath,
		"message": views.CompletedWords(h), "mode": h.Mode, "total_ms": h.Metrics.TotalMS,
	})
	e.Notice = event.NoticeCompleted
	return &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}, Move: &daemon.Move{
		Handoff: h, From: from, Cause: "retry: the agent was given work after its document, so it lives on",
	}}, nil
}

// successor reads the successor's row. It returns an outcome if it cannot.
func (r *handoffRun) successor() (*daemon.Agent, *outcome) {
	if r.heir.AgentID == nil {
		return nil, &outcome{err: errors.New("no successor on the row")}
	}
	a, err := r.d.Store.Agent(r.ctx, *r.heir.AgentID)
	if err != nil {
		return nil, &outcome{err: err}
	}
	return &a, nil
}

// awaitAnswer waits for a successor that has not registered. While a person may answer a dialog in its pane, and from
// the answer on, the deadline of StartDeadline replaces that of the phase.
func (r *handoffRun) awaitAnswer(next *daemon.Agent) outcome {
	out := stayFor(time.Second, next.Hold.Value())
	if !next.AsksBeforeSession() && next.AnsweredAt == nil {
		return out
	}
	since, limit := r.d.StartDeadline(next)
	switch out.extended = r.d.TimeLeft(since, limit) > 0; {
	case !out.extended && next.AsksBeforeSession():
		return r.failed(daemon.CodeRegistrationTimeout, "Nobody answered the dialog in the successor's pane within %s%s", limit, r.paneShows())
	case !out.extended:
		return out
	}
	if at := since.Add(limit); *r.deadline == nil || !(*r.deadline).Equal(at) {
		*r.deadline, out.wrote = &at, true
	}
	if next.AsksBeforeSession() {
		out.hold = daemon.Hold{Kind: daemon.HoldHeirDialog, HoldDetail: daemon.HoldDetail{AgentID: next.ID, Dialog: next.WaitsFor}}
		out.alert = next.PipelineID != nil // without a pipeline, the successor's own event tells the operator
	}
	return out
}
