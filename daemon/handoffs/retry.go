package handoffs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
)

// Retry holds the choices of somebody who retries a handoff. What is empty stays as it was.
type Retry struct {
	Mode           daemon.Mode `json:"mode,omitempty"`            // who writes the document
	Force          bool        `json:"force,omitempty"`           // take the document although it says next to nothing, or seems to have secrets
	Runtime        string      `json:"runtime,omitempty"`         // of the successor
	PermissionMode string      `json:"permission_mode,omitempty"` // of the successor, in its runtime's own words
}

// RetryHandoff continues a failed handoff at the phase that failed. If the handoff has no record, its document is
// verified again. If the document is still not acceptable, the handoff asks for another one.
//
// A handoff that awaits a person's decision goes back to verifying and asks for another document.
func (d *Flow) RetryHandoff(ctx context.Context, id int64, in Retry) (daemon.Handoff, error) {
	mode := in.Mode
	if mode != "" {
		if err := checkMode(mode); err != nil {
			return daemon.Handoff{}, err
		}
	}
	for {
		h, err := d.Handoff(ctx, id)
		switch {
		case err != nil:
			return h, err
		case !h.Retryable():
			return h, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffNotFailed, "Only a failed handoff can be retried: this one is %s", h.Status)
		}
		if err := d.RequireThisHost(h.Host); err != nil {
			return h, err
		}
		a, err := d.Store.Agent(ctx, h.AgentID) // once: what is checked of it holds at the commit, which writes its row
		if err != nil {
			return h, err
		}
		if err := d.stepWants(ctx, &h, &a); err != nil {
			return h, err
		}
		if mode != "" && mode != h.Mode {
			if err := d.checkWriter(&a, mode); err != nil {
				return h, err
			}
			if h.RecordedAt != nil && (!h.AwaitsDecision() || h.HeirsFirst()) {
				return h, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffRecorded, "The document is recorded, so the mode can no longer change: retry without one")
			}
			h.Mode = mode
		}
		h.Forced = h.Forced || in.Force
		if err := chooseAnew(ctx, d, &h, &a, in); err != nil {
			return h, err
		}
		err = d.retry(ctx, &h, &a)
		switch {
		case errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil:
			continue
		case errors.Is(err, daemon.ErrOpenHandoff):
			return h, cmp.Or(d.refuseHandedOver(ctx, &h), error(daemon.ErrHandoffOpen))
		case err != nil:
			return h, err
		}
		return d.Handoff(ctx, id)
	}
}

// chooseAnew notes on the handoff another runtime or permission mode of its successor, if the retry names one. It refuses them once a
// successor works, and for several heirs, of which some may work.
func chooseAnew(ctx context.Context, d *Flow, h *daemon.Handoff, a *daemon.Agent, in Retry) error {
	if in.Runtime == "" && in.PermissionMode == "" {
		return nil
	}
	if len(h.Heirs) > 1 {
		return daemon.Errorf(daemon.KindConflict, daemon.CodeBadHeirs, "The handoff has %d heirs, and a retry starts those again that failed as they are: leave out runtime and permission_mode", len(h.Heirs))
	}
	for _, id := range h.SuccessorIDs() {
		next, err := d.Store.Agent(ctx, id)
		if err != nil && !errors.Is(err, daemon.ErrNotFound) {
			return err
		}
		if err == nil && next.Active() {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentActive, "Agent %d, the successor, lives, and keeps its runtime and mode: end it with `understudy agent stop --force %[1]d`, then retry", id)
		}
	}
	heir := h.Heirs[0].Heir
	if in.Runtime != "" && in.Runtime != heir.Runtime { // these are words of the other runtime
		heir.Runtime, heir.Model, heir.PermissionMode = in.Runtime, "", ""
	}
	heir.PermissionMode = cmp.Or(in.PermissionMode, heir.PermissionMode)
	asked := HandoffRequest{Heirs: []daemon.Heir{heir}}
	if err := asked.checkHeirs(); err != nil {
		return err
	}
	heir, err := d.resolveHeir(a, heir)
	if err != nil {
		return err
	}
	h.Heirs[0].Heir = heir
	return nil
}

// refuseHandedOver returns a conflict error if another handoff of the same agent is closed and has recorded its document, so that it stands
// for the agent's work; else nil.
func (d *Flow) refuseHandedOver(ctx context.Context, h *daemon.Handoff) error {
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: h.AgentID, Limit: 500})
	if err != nil {
		return err
	}
	for _, other := range list {
		if other.ID != h.ID && !other.Open() && other.RecordedAt != nil && Claims(&other) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffSuperseded, "Agent %d was handed over by handoff %d", h.AgentID, other.ID)
		}
	}
	return nil
}

func (d *Flow) retry(ctx context.Context, h *daemon.Handoff, a *daemon.Agent) error {
	c, err := d.RetryChange(ctx, h, a)
	if err != nil {
		return err
	}
	if err := d.Commit(ctx, c); err != nil {
		return fmt.Errorf("handoff %d: retry: %w", h.ID, err)
	}
	if h.Phase == daemon.Completed {
		d.logHandoff(h, "handoff_completed", slog.LevelInfo, "")
	}
	return nil
}

// RetryChange returns the change by which a handoff of an agent is retried.
func (d *Flow) RetryChange(ctx context.Context, h *daemon.Handoff, a *daemon.Agent) (*daemon.Change, error) {
	r := runOf(ctx, d, h, a)
	switch {
	case h.AwaitsDecision() && h.HeirsFirst():
		return r.letLive()
	case h.AwaitsDecision():
		return takeRecordBack(r)
	}
	failed := h.Error.Phase
	if next, _ := r.successor(); !h.HeirsFirst() && (next == nil || !next.Active()) {
		if err := canHandOver(ctx, d, a, h.Heirs); err != nil {
			return nil, err
		}
	}
	if !a.Active() {
		if err := d.refuseHandedOver(ctx, h); err != nil {
			return nil, err
		}
		if err := d.NoHeir(ctx, a, h.SuccessorIDs()...); err != nil {
			return nil, err
		}
	}
	to, c, err := resumeAt(r, failed)
	if err != nil {
		return nil, fmt.Errorf("handoff %d: retry of %s: %w", h.ID, failed, err)
	}
	c.WriteAgent(a) // if its session is resumed, its step ends, or it gets a message, at the same time, one of the two commits gets ErrMoved
	h.EnterPhase(to, r.now, r.settings)
	h.Error = nil
	c.Move = &daemon.Move{Handoff: h, From: daemon.Failed, Cause: "retry of " + string(failed)}
	c.Events = append(c.Events, d.Event(event.HandoffRetried, &h.AgentID, &h.ID, map[string]any{"failed": failed, "phase": to, "persona": h.Persona}))
	return &c, nil
}

// takeRecordBack returns the change that takes a handoff from shutting_down back to verifying, where it asks for
// another document. It writes the agent's row as well: if the agent's end is committed at the same time, one of the
// two commits gets ErrMoved.
func takeRecordBack(r *handoffRun) (*daemon.Change, error) {
	h, a := r.h, r.agent
	if !a.Active() || a.StopAskedAt != nil {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentEnding, "Agent %d is being ended: its handoff goes on with the document that is recorded", a.ID)
	}
	from, cause := h.Phase, "retry: the agent was given work after its document"
	s, _ := daemon.StepAt(from)
	h.EnterPhase(daemon.Target(s.Next, daemon.OnWorkedOn), r.now, r.settings)
	h.RecordedAt, h.InjectionPrompt, h.Retrying = nil, nil, true
	h.IgnoreHooksUpTo(a.LastHook)
	return &daemon.Change{Agents: []*daemon.Agent{a}, Move: &daemon.Move{Handoff: h, From: from, Cause: cause}, Events: []*event.Event{
		r.d.Event(event.HandoffRetried, &h.AgentID, &h.ID, map[string]any{"failed": from, "phase": h.Phase, "persona": h.Persona}),
	}}, nil
}

// resumeAt returns the phase in which a retry goes on, with the rows that belong to that move.
func resumeAt(r *handoffRun, failed daemon.Phase) (to daemon.Phase, c daemon.Change, err error) {
	r.h.Retrying = true
	if hasSuccessor(failed) {
		return successorAgain(r, failed)
	}
	s, _ := daemon.StepAt(failed)
	switch to = daemon.Target(s.Retry, ""); to {
	case "":
		err = errors.New("the table knows no retry")
	case daemon.Verifying:
		r.h.IgnoreHooksUpTo(r.agent.LastHook)
	case daemon.ShuttingDown:
		if r.agent.Active() && r.agent.StopStage == daemon.StopFailed {
			r.agent.WithdrawStop()
			c.Agents = []*daemon.Agent{r.agent}
		}
	case daemon.BriefingHeirs:
		c, err = r.heirsAgain()
	}
	return to, c, err
}

// successorAgain is resumeAt for a failure of the only heir. One that is gone gets another agent at once.
func successorAgain(r *handoffRun, failed daemon.Phase) (daemon.Phase, daemon.Change, error) {
	to, next, c, err := again(r, failed)
	if err != nil || to != daemon.Spawning {
		return to, c, err
	}
	fresh := r.startHeir("retry")
	if c, err = fresh.with, fresh.err; fresh.fail != nil {
		err = &daemon.Error{Kind: daemon.KindConflict, Code: fresh.fail.Code, Message: fresh.fail.Message}
	}
	if next != nil && r.agent.StepID != nil {
		c.WriteAgent(next) // next is the step's newest agent, whose row must be written: see stepOver
	}
	return to, c, err
}

// again returns the phase in which an heir that has failed goes on, with its agent, if that can be read, and the rows that belong
// to it.
func again(r *handoffRun, failed daemon.Phase) (to daemon.Phase, next *daemon.Agent, c daemon.Change, err error) {
	condition, next, err := successorForRetry(r)
	if err != nil {
		return "", next, c, err
	}
	s, _ := daemon.StepAt(failed)
	if to = daemon.Target(s.Retry, condition); to == daemon.Briefing {
		c, err = briefAgain(r, next)
	}
	return to, next, c, err
}

// successorForRetry restores the files that a successor reads. Then it returns OnSuccessorThere or OnSuccessorGone, with
// the successor's row; nil: the row can't be read. It refuses the retry if the successor was asked to stop and has not
// ended.
func successorForRetry(r *handoffRun) (condition string, next *daemon.Agent, err error) {
	if err := rewriteContext(r); err != nil {
		return "", nil, err
	}
	next, _ = r.successor()
	switch {
	case next == nil || !next.Active():
		return daemon.OnSuccessorGone, next, nil
	case next.StopAskedAt != nil: // refuse: a new successor would run beside it
		return "", nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentEnding, "Agent %d, the successor, was told to stop: retry when it has ended, `understudy agent stop --force %[1]d` sees to that", next.ID)
	}
	return daemon.OnSuccessorThere, next, nil
}

// briefAgain queues the injection prompt once more, unless the transcript shows that the successor took it.
func briefAgain(r *handoffRun, next *daemon.Agent) (daemon.Change, error) {
	dl, err := r.d.Store.Delivery(r.ctx, *r.heir.DeliveryID)
	if err != nil {
		return daemon.Change{}, err
	}
	if dl.Has(daemon.Unconfirmed) && r.d.InTranscript(next, &dl) {
		dl.DecideBy(daemon.Submitted, daemon.EvidenceInTranscript, r.now)
		return daemon.Change{Deliveries: []*daemon.Delivery{&dl}}, nil
	}
	c, bad := r.queuePrompt(next.ID)
	if bad != nil && bad.err != nil {
		return daemon.Change{}, bad.err
	}
	if bad != nil {
		return daemon.Change{}, &daemon.Error{Kind: daemon.KindConflict, Code: bad.fail.Code, Message: bad.fail.Message}
	}
	return c, nil
}

// rewriteContext restores from the record the files that a successor reads: the context file if it was changed, and the
// document if it is gone. A document that somebody edited stays as it is.
func rewriteContext(r *handoffRun) error {
	intact, there := r.d.ContextIntact(r.h), sight.FileHasContent(r.h.FilePath)
	if intact && there {
		return nil
	}
	rec, err := r.d.Store.Record(r.ctx, r.h.ID)
	switch {
	case err != nil && !errors.Is(err, daemon.ErrNotFound):
		return err
	case err != nil || engine.Checksum([]byte(rec.Context)) != *r.h.ContextChecksum: // no copy; an older version kept none
		return daemon.Errorf(daemon.KindConflict, daemon.CodeContextChanged, "The files of the handoff are not those that were recorded: put %s and %s back, then retry",
			r.h.FilePath, *r.h.ContextPath)
	}
	if !there {
		if err := data.WriteFile(r.h.FilePath, []byte(rec.Document), 0o600); err != nil {
			return err
		}
	}
	if !intact {
		return data.WriteFile(*r.h.ContextPath, []byte(rec.Context), 0o600)
	}
	return nil
}

// canAskAnew reports whether the agent, or a fork of its session, can be asked for the document once more.
func canAskAnew(r *handoffRun) bool { return r.agent.Active() || r.h.Mode != daemon.ModeAgent }

// documentOutdated reports whether the agent was given work after the document was written. The successor would not learn
// about that work. Any of three facts shows it:
//   - The document's time is in the future: the clock was set back after it was written, so its time proves nothing.
//   - The hook of a prompt came after the document, or at the same time.
//   - The transcript shows a prompt after the document. The hook of a queued prompt comes before the runtime takes the
//     prompt.
func documentOutdated(r *handoffRun, doc data.Document) bool {
	written, prompted := doc.ModTime.Truncate(time.Microsecond), r.agent.LastPromptAt // which the store keeps in microseconds
	return doc.ModTime.After(r.now) || prompted != nil && !written.After(*prompted) || r.d.PromptedAfter(r.agent, "", doc.ModTime)
}

// promptUnseen reports whether the agent of a CLI that is known by its screen alone was given a prompt after the instruction: nothing tells
// whether it took the prompt before it had written the document.
func promptUnseen(r *handoffRun) (bool, error) {
	if r.h.DeliveryID == nil || r.agent.LastPromptAt == nil || r.d.RuntimeOf(r.agent).Can.QuietAfter == 0 {
		return false, nil
	}
	dl, err := r.d.Store.Delivery(r.ctx, *r.h.DeliveryID)
	return err == nil && dl.TypedAt != nil && r.d.Facts().CameAfter(r.agent.LastPrompt, *r.agent.LastPromptAt, &dl), err
}

// asideOf returns the path of a handoff's document that was not acceptable.
func asideOf(h *daemon.Handoff) string { return strings.TrimSuffix(h.FilePath, ".md") + ".aside.md" }

// askAnew asks for the document once more, because a retry found no acceptable one. It renames a file that is there,
// so that no later check takes it for the new document.
func askAnew(r *handoffRun, why string) outcome {
	if err := os.Rename(r.h.FilePath, asideOf(r.h)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return outcome{err: err}
	}
	r.h.ContextChecksum = nil // forget the old record: the next document is another one
	if r.h.Mode != daemon.ModeAgent {
		r.h.Retrying, r.h.ForkedAt = false, nil
		return moveTo(daemon.Generating, "retry: "+why, daemon.Change{})
	}
	r.h.Ref = agents.NewRef(r.d.Random, r.h.SourceAgent, r.h.TargetAgent, r.now)
	r.h.Retrying = false
	c, out := r.queueInstruction()
	if out != nil {
		return *out
	}
	c.Agents = []*daemon.Agent{r.agent} // a hook that has come since the look writes its row, as when the old instruction is taken after all
	return moveTo(daemon.Instructing, "retry: "+why, c)
}
