package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// handoffRun is one look at one handoff: the rows as read, and what a step may use. Steps read
// and decide; the engine commits.
type handoffRun struct {
	d     *Daemon
	ctx   context.Context
	began time.Time // by the monotonic clock
	now   time.Time
	h     *Handoff
	agent *Agent // the outgoing one
	set   HandoffSettings
}

// advance does what is due for an agent's open handoff. moved: a row was written, look again.
func (d *Daemon) advance(ctx context.Context, a *Agent, h *Handoff) (moved bool, again time.Duration, err error) {
	s, ok := stepAt(h.Phase)
	if !ok {
		return false, 0, nil
	}
	r := &handoffRun{d: d, ctx: ctx, began: time.Now(), now: d.now(), h: h, agent: a, set: d.Settings.Handoff}
	out := s.do(r)
	late := s.limit != nil && !out.extended && d.left(h.PhaseAt, s.limit(r.set)) <= 0
	if out.err != nil && (!late || retryable(out.err)) {
		return false, 0, fmt.Errorf("handoff %d: %s: %w", h.ID, h.Phase, out.err)
	}
	if out.next == "" && out.fail == nil && late {
		out = r.failed(s.code, "%s (%s %s)%s", s.says, s.limitName, s.limit(r.set), r.seen())
	}
	switch {
	case out.fail != nil:
		return true, 0, r.end(Failed, out)
	case out.next != "":
		return true, 0, r.move(out)
	}
	return r.stay(out)
}

// openHandoff returns the open handoff of an outgoing agent.
func (d *Daemon) openHandoff(ctx context.Context, agentID int64) (Handoff, bool, error) {
	list, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Open: true, Limit: 1})
	if err != nil || len(list) == 0 {
		return Handoff{}, false, err
	}
	return list[0], true, nil
}

// move commits the change into the next phase.
func (r *handoffRun) move(out outcome) error {
	h, from := r.h, r.h.Phase
	s, ok := stepAt(from)
	if !ok || !leadsTo(s.next, out.next) {
		return fmt.Errorf("handoff %d: the table knows no move from %s to %s", h.ID, from, out.next)
	}
	spent := h.enter(out.next, r.now, r.set)
	c := out.with
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
	}
	return nil
}

// end commits a failure: row, event and alert in one transaction.
func (r *handoffRun) end(to Phase, out outcome) error {
	h, from := r.h, r.h.Phase
	spent := h.enter(to, r.now, r.set)
	h.Error, h.CompletedAt = out.fail, &r.now
	c := out.with
	c.Move = &Move{Handoff: h, From: from, Cause: string(out.fail.Code)}
	e := r.d.event(event.HandoffFailed, &h.AgentID, &h.ID, map[string]any{
		"phase": out.fail.Phase, "phase_ms": spent, "code": out.fail.Code, "message": out.fail.sentence(), "persona": h.Persona,
	})
	e.Alert, e.Cause = true, r.endCause(from)
	c.Events = append(c.Events, e)
	if err := r.commit(&c); err != nil {
		return fmt.Errorf("handoff %d: %s to %s: %w", h.ID, from, to, err)
	}
	if out.then != nil {
		out.then()
	}
	r.d.logHandoff(h, "handoff_failed", slog.LevelWarn, string(out.fail.Code))
	return nil
}

// endCause is what the end of the agent came of that the handoff needs in a phase, if it has ended.
func (r *handoffRun) endCause(in Phase) string {
	a := r.agent
	if hasSuccessor(in) {
		next, out := r.successor()
		if out != nil {
			return ""
		}
		a = next
	}
	return r.d.endCauseOf(a)
}

// stay leaves the handoff where it is; a new note is made visible. It returns when to look again:
// at the deadline if nothing is due before.
func (r *handoffRun) stay(out outcome) (moved bool, again time.Duration, err error) {
	h := r.h
	again = out.again
	if out.note == noteNotReady && r.d.spent(h.PhaseAt) < noteAfter {
		out.note = h.Note // a composer that is not ready for a moment is nothing to tell
	}
	if s, ok := stepAt(h.Phase); ok && s.limit != nil && !out.extended {
		again = earlier(again, max(r.d.left(h.PhaseAt, s.limit(r.set)), time.Millisecond))
	}
	if out.note == h.Note && !out.wrote && len(out.with.Agents) == 0 && len(out.with.Deliveries) == 0 {
		return false, again, nil
	}
	c := out.with
	if out.note != h.Note && out.note != "" {
		e := r.d.event(event.HandoffWaiting, &h.AgentID, &h.ID, map[string]any{"phase": h.Phase, "message": r.waitingWords(out)})
		e.Alert = out.alert
		c.Events = append(c.Events, e)
	}
	h.Note = out.note
	c.Move = &Move{Handoff: h, From: h.Phase}
	if err := r.commit(&c); err != nil {
		return false, 0, fmt.Errorf("handoff %d: %s: %w", h.ID, h.Phase, err)
	}
	return true, 0, nil
}

// commit writes a change of the handoff.
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

// enter puts the handoff into a phase: the time spent in the one before is counted, and the
// deadline set. It returns that time in milliseconds; 0 if the one before was an end.
func (h *Handoff) enter(p Phase, now time.Time, set HandoffSettings) (spent float64) {
	if h.Metrics.Phases == nil {
		h.Metrics.Phases = map[Phase]int64{}
	}
	if h.Open() { // not the time between a failure and its retry
		in := elapsed(h.PhaseAt, now)
		h.Metrics.Phases[h.Phase] += in.Milliseconds()
		spent = float64(in.Microseconds()) / 1000
	}
	h.Phase, h.PhaseAt, h.Note, h.Deadline = p, now, "", nil
	if s, ok := stepAt(p); ok && s.limit != nil {
		at := now.Add(s.limit(set))
		h.Deadline = &at
	}
	if h.StartedAt == nil && p != Cancelled {
		h.StartedAt = &now
	}
	if !h.Open() {
		h.Metrics.TotalMS = elapsed(h.CreatedAt, now).Milliseconds()
	}
	return spent
}

// failed makes the outcome of a failure. The sentence says what happened; what can be done is
// added by where it happened.
func (r *handoffRun) failed(code Code, format string, args ...any) outcome {
	if r.h.Mode == ModeGenerate && beforeRecord(r.h.Phase) {
		return r.notGenerated(code, format, args...)
	}
	msg := fmt.Sprintf(format, args...)
	hint := fmt.Sprintf("look at the agent with `understudy agent attach %d`, then `understudy handoff retry %d`", r.agent.ID, r.h.ID)
	switch {
	case r.h.Phase == ShuttingDown && r.agent.Active():
		hint = fmt.Sprintf("end the agent yourself or with `understudy agent stop --force %d`, then `understudy handoff retry %d`", r.agent.ID, r.h.ID)
	case !beforeRecord(r.h.Phase):
		hint = fmt.Sprintf("the record is kept; `understudy handoff retry %d` goes on from here", r.h.ID)
	case !r.agent.Active():
		hint = fmt.Sprintf("write the document to %s yourself and `understudy handoff retry %d`, or open the session again with `understudy agent resume %d`", r.h.FilePath, r.h.ID, r.agent.ID)
	}
	return outcome{fail: &Failure{Phase: r.h.Phase, Code: code, Message: msg + "; " + hint + "."}}
}

// waitingWords tell what a handoff waits for; if it is a person, with the command to begin with.
func (r *handoffRun) waitingWords(out outcome) string {
	if !out.alert {
		return out.note
	}
	words := fmt.Sprintf("Handoff %d: %s", r.h.ID, out.note)
	switch out.note {
	case noteDialog:
		words += fmt.Sprintf(": `understudy agent attach %d`", r.agent.ID)
	case noteWorkedOn:
		words += fmt.Sprintf(": `understudy handoff retry %d` or `understudy agent stop %d`", r.h.ID, r.agent.ID)
	}
	return words + "."
}

// stayFor waits for something that nothing announces.
func stayFor(d time.Duration, note string) outcome {
	return outcome{again: d, note: note, alert: note == noteDialog || note == noteWorkedOn}
}

// moveTo leaves for the next phase.
func moveTo(p Phase, cause string, with Change) outcome {
	return outcome{next: p, cause: cause, with: with}
}

// retryable reports whether an error of the engine only means: look again.
func retryable(err error) bool { return errors.Is(err, ErrMoved) }
