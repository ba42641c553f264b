package handoffs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

// request makes the folder of the document. In mode agent it also queues the instruction. One commit holds the instruction
// and the move to instructing, so a crash leaves both or neither.
func (r *handoffRun) request() outcome {
	if r.h.Mode != daemon.ModeAgent {
		if out := makeFolder(r); out != nil {
			return *out
		}
		return moveTo(daemon.Generating, "the agent itself is not asked", daemon.Change{})
	}
	c, out := r.queueInstruction()
	if out != nil {
		return *out
	}
	return moveTo(daemon.Instructing, "instruction queued", c)
}

// queueInstruction makes the delivery of a new instruction with the handoff's current ref.
func (r *handoffRun) queueInstruction() (daemon.Change, *outcome) {
	bad := func(err error) (daemon.Change, *outcome) { o := outcome{err: err}; return daemon.Change{}, &o }
	if out := makeFolder(r); out != nil {
		return daemon.Change{}, out
	}
	in := agents.Instruction{
		Ref: r.h.Ref, Path: r.h.FilePath, Experience: agents.ExperiencePath(r.d.Data, r.h.Persona), Focus: r.d.focusOf(r.h),
		Headings: r.d.furtherHeadings(r.h), Request: agents.RequestPath(r.h.FilePath),
	}
	text, request, err := in.Text()
	if err != nil {
		o := r.failed(daemon.CodePromptTooLong, "%v", err)
		return daemon.Change{}, &o
	}
	if request != nil {
		if err := data.WriteSole(in.Request, request, 0o600); err != nil {
			return bad(err)
		}
	}
	id, err := r.d.Store.NextID(r.ctx, daemon.DeliveryIDs)
	if err != nil {
		return bad(err)
	}
	r.h.ExpectInstruction(id)
	dl := daemon.NewDelivery(id, r.h.AgentID, daemon.KindInstruction, text, r.h.Ref, r.now)
	dl.HandoffID = &r.h.ID
	return daemon.Change{NewDeliveries: []*daemon.Delivery{dl}}, nil
}

// instruct waits until the runtime has taken the instruction. The agent's lane types it to an idle agent; a busy
// agent gets it as the answer to its Stop.
func (r *handoffRun) instruct() outcome {
	dl, err := r.d.Store.Delivery(r.ctx, *r.h.DeliveryID)
	if err != nil {
		return outcome{err: err}
	}
	switch {
	case dl.Has(daemon.Submitted):
		return moveTo(daemon.AwaitingDocument, dl.Evidence, daemon.Change{})
	case dl.Verdict != nil && !r.agent.Active():
		return r.failed(daemon.CodeAgentGone, "The agent ended before it took the instruction")
	case dl.Verdict != nil:
		return r.failed(failureOf(&dl), "The instruction was not confirmed by the agent (%s)%s", dl.Evidence, r.paneShows())
	case dl.State != daemon.DeliveryQueued:
		return outcome{} // it has a verdict by ack_timeout
	}
	busy := r.busy()
	if left := r.d.TimeLeft(r.h.PhaseAt, r.settings.BusyTimeout); left > 0 {
		return stayFor(left, busy)
	}
	out := r.failed(daemon.CodeBusyTimeout, "The agent could not be given the instruction within %s: %s%s", r.settings.BusyTimeout, cmp.Or(busy.Words(), "it was not idle"), r.paneShows())
	dl.Decide(daemon.NotSubmitted, "busy_timeout", r.now)
	out.with.Deliveries = []*daemon.Delivery{&dl}
	return out
}

// awaitDocument waits for the end of the turn that took the instruction. The hook of the Stop has noted it on the row.
func (r *handoffRun) awaitDocument() outcome {
	h := r.h
	switch {
	case agents.DocumentDone(r.agent, h):
		return moveTo(daemon.Verifying, fmt.Sprintf("Stop, hook %d", h.StopHook), daemon.Change{})
	case h.Trouble != "":
		return r.failed(daemon.CodeRuntimeError, "The agent's runtime reported an error instead of finishing: %s", words.TrimDot(h.Trouble))
	case !r.agent.Active():
		return r.failed(daemon.CodeAgentGone, "The agent ended (%s) before it finished its handoff document", r.endReason(r.agent))
	case r.agent.State == daemon.Waiting:
		return stayFor(time.Second, daemon.HoldDialog.Hold())
	case r.agent.State == daemon.Idle && r.noTurnRuns() && sight.FileHasContent(h.FilePath):
		// No Stop came (Esc in the pane sends no hook), but the document is there.
		h.EndTurn(r.agent.LastHook, "")
		return moveTo(daemon.Verifying, "the document is there and the agent is idle, without a Stop", daemon.Change{})
	}
	return stayFor(time.Second, daemon.Hold{})
}

// verify checks the document. A good one goes on to [handoffRun.record].
func (r *handoffRun) verify() outcome {
	h := r.h
	busy := !r.agent.AtRest() || r.d.Sighted(r.agent.ID).Busy() // no hook tells that a runtime has taken a prompt off its queue
	if h.Retrying && r.agent.Active() && busy && r.d.TimeLeft(h.PhaseAt, r.settings.BusyTimeout) > 0 {
		return stayFor(time.Second, cmp.Or(daemon.WhyBusy(r.agent), daemon.HoldTurn).Hold()) // it may be writing the document right now
	}
	doc, err := r.readDocument()
	unseen := false
	if err == nil && h.Retrying {
		unseen, err = promptUnseen(r)
	}
	var bad *data.DocumentError
	switch {
	case errors.As(err, &bad) && bad.Code == data.DocumentUnstable && r.d.TimeLeft(h.PhaseAt, 5*time.Second) > 0:
		return stayFor(100*time.Millisecond, daemon.HoldWriting.Hold())
	case errors.As(err, &bad) && bad.Code == data.DocumentSecret && askOnceMore(r):
		h.Retrying = true // the next look asks, when the agent is idle
		return outcome{wrote: true}
	case errors.As(err, &bad) && h.Retrying && canAskAnew(r):
		return askAnew(r, bad.Code)
	case err == nil && h.Retrying && canAskAnew(r) && recordTakenBack(h):
		return askAnew(r, "the agent was given work that the document may not mention")
	case err == nil && h.Retrying && canAskAnew(r) && (unseen || documentOutdated(r, doc)):
		return askAnew(r, "the document is older than the agent's last prompt")
	case errors.As(err, &bad):
		return r.failed(daemon.Code(bad.Code), "%s", words.TrimDot(bad.Message))
	case err != nil:
		return outcome{err: err}
	}
	if h.Retrying {
		h.DeliveryID = nil // the document covers all that was said until now, not the instruction alone
	}
	return r.record(doc)
}

// record writes the context file, and then commits its copy with all else that the successor needs in one
// transaction. The document is good, so an assembly that fails does not stop the handoff: the successor gets the
// basic context, and a warning says so.
func (r *handoffRun) record(doc data.Document) outcome {
	h := r.h
	got, err := r.assemble(doc)
	switch {
	case r.ctx.Err() != nil, daemon.Unavailable(err):
		return outcome{err: err} // the record could not be committed now, either
	case err != nil:
		got = basicContext(r, doc, err)
	}
	h.WrittenBy = writerOf(h, doc.Bytes)
	h.Structured, h.Warnings, h.ContextValidated, h.Degraded = got.Structured, got.Warnings, got.Validated, err != nil || h.WrittenBy == daemon.WrittenByDaemon
	if h.Missing = got.missing; h.Missing == nil {
		h.Missing = []string{}
	}
	if h.Warnings == nil {
		h.Warnings = []string{}
	}
	path := data.ContextPath(h.FilePath)
	if err := data.WriteSole(path, got.Context, 0o600); err != nil {
		return r.failed(daemon.CodeContextUnwritable, "The context file could not be written: %v", err)
	}
	sum := engine.Checksum(got.Context)
	prompt, err := agents.Injection{
		Ref: h.Ref, AgentID: r.agent.ID, Name: r.agent.Name, Persona: h.Persona, Generation: r.agent.Generation,
		Path: h.FilePath, Context: path,
	}.Text()
	if err != nil {
		return r.failed(daemon.CodePromptTooLong, "%v", err)
	}
	r.now = r.d.Now() // the time of the assembly counts for this phase
	h.ContextPath, h.ContextChecksum, h.InjectionPrompt = &path, &sum, &prompt
	c := daemon.Change{Agents: []*daemon.Agent{r.agent}, NewRecord: &got.Record}
	measureAtRecord(r.d, &c, r.agent, r.now)
	h.RecordedAt, h.Retrying, h.ContextUse = &r.now, false, r.agent.Context
	h.Metrics.DurationMS = Milliseconds(time.Since(r.began))
	h.Metrics.ContextSizeBytes = int64(len(got.Context))
	h.Metrics.MessagesTransferred, h.Metrics.DecisionsTransferred = got.Rendered.Messages, got.Rendered.Decisions
	h.Metrics.MemoryRefsTransferred = got.Rendered.References
	if err := clearQueue(r, &c); err != nil {
		return outcome{err: err}
	}
	if opts := r.d.inheritedOptions(r.agent); r.agent.Active() && opts != nil {
		r.agent.Options = opts
	}
	keepChoices(r, &got)
	c.Events = append(c.Events, recordEvents(r, &got)...)
	out := moveTo(daemon.Recorded, "document verified", c)
	out.then = func() { logRecord(r, &got) }
	return out
}

// recorded does nothing but move on. Its phase says that the record is committed and that nothing has been ended yet.
func (r *handoffRun) recorded() outcome {
	if r.h.HeirsFirst() {
		return moveTo(daemon.BriefingHeirs, "the record is kept", daemon.Change{})
	}
	return moveTo(daemon.ShuttingDown, "the record is kept", daemon.Change{})
}

// shutDown waits until an exit would lose none of the outgoing agent's work. It then asks the agent to exit, and waits until
// the agent's process has ended. The agent's own lane climbs the stop ladder.
func (r *handoffRun) shutDown() outcome {
	a := r.agent
	switch {
	case !a.Active() && r.h.HeirsFirst():
		return r.handedOut()
	case !a.Active():
		if over, err := r.stepOver(); err != nil {
			return outcome{err: err}
		} else if over != "" {
			return r.notNeeded(over)
		}
		return r.startHeir("the agent is gone: " + r.endReason(a))
	case a.StopStage == daemon.StopFailed:
		return r.failed(daemon.CodeExitFailed, "The outgoing agent could not be ended%s", r.paneShows())
	case a.StopAskedAt != nil:
		return outcome{}
	case daemon.WhyBusy(a) != "": // even if it starts: yieldToWork would withdraw the request
		return r.stayLong(time.Second, daemon.WhyBusy(a).Hold())
	case daemon.AwaitedTasks(a, r.settings.Background) > 0:
		return r.stayLong(time.Second, daemon.HoldTasks.Hold())
	}
	if open, err := r.d.AwaitsVerdict(r.ctx, a.ID); err != nil || open {
		out := r.stayLong(time.Second, daemon.HoldUndecided.Hold()) // the text may become a prompt at any moment; it has a verdict by ack_timeout
		out.err = err
		return out
	}
	if given, err := r.d.GivenWork(r.ctx, r.h, a); err != nil || given {
		out := stayFor(time.Second, daemon.HoldWorkedOn.Hold())
		if r.h.HeirsFirst() {
			out = stayFor(time.Second, daemon.HoldWorkedAside.Hold())
		}
		out.err = err
		return out
	}
	switch {
	case r.d.RuntimeOf(a).Can.Exit == runtimes.ByServer: // a draft is not in the way of a server
	case !a.HasPane(), r.d.Sighted(a.ID).Behind: // the stop ladder types nothing to a session in the background
		if r.d.Look(a).Busy() {
			return r.stayLong(time.Second, daemon.HoldTurn.Hold())
		}
	default:
		screen, why, again := r.d.Composer(r.ctx, a)
		if screen == nil && (why.Kind != daemon.HoldNotReady || r.d.Unrecognised(r.ctx, a) == nil) {
			return r.stayLong(r.d.NotReady(a.ID, again, why))
		}
		if screen != nil {
			r.d.IsReady(a.ID)
		}
	}
	if !r.h.HeirsFirst() {
		if out := r.cannotStart(canHandOver(r.ctx, r.d, a, r.h.Heirs)); out != nil {
			return *out
		}
	}
	a.AskToStop(r.now, true) // the stop ladder withdraws this if the agent is given work meanwhile
	return outcome{with: daemon.Change{Agents: []*daemon.Agent{a}}}
}

// startHeir commits the row of an heir's agent, with the name that its tmux session will have, before the pane is made.
func (r *handoffRun) startHeir(cause string) outcome {
	next, err := r.d.NewSuccessor(r.ctx, r.agent, r.now)
	if err != nil {
		return outcome{err: err}
	}
	err = becomeHeir(r.d, r.agent, next, r.heir)
	if failure := r.notStartable(err); failure != nil {
		return outcome{fail: failure}
	}
	if err != nil {
		return outcome{err: err}
	}
	if r.h.HeirsFirst() { // else the outgoing agent has ended after this check, and what has changed since the launch itself tells
		if out := r.cannotStart(agents.CanStart(r.ctx, r.d.Supervisor.Launcher, next)); out != nil {
			return *out
		}
	}
	r.heir.AgentID, r.heir.DeliveryID = &next.ID, nil
	c := daemon.Change{NewAgent: next, Events: []*event.Event{r.created(next)}}
	if r.agent.StepID != nil {
		c.WriteAgent(r.agent)
	}
	return moveTo(daemon.Spawning, cause, c)
}

// spawn waits for the successor's own lane to make the pane.
func (r *handoffRun) spawn() outcome {
	next, out := r.successor()
	switch {
	case out != nil:
		return *out
	case next.SpawnedAt != nil: // the next phase asks whether it has ended since
		warnOfPlace(r, next)
		return moveTo(daemon.AwaitingRegistration, "pane "+*next.Pane+" was made", daemon.Change{})
	case !next.Active():
		return r.failed(daemon.CodeSpawnFailed, "The successor could not be started: %s", r.endReason(next))
	}
	return outcome{}
}

// awaitRegistration waits for the hook SessionStart of the successor's launch, which has set RegisteredAt.
func (r *handoffRun) awaitRegistration() outcome {
	next, out := r.successor()
	switch {
	case out != nil:
		return *out
	case next.RegisteredAt != nil:
		return moveTo(daemon.InjectingSkill, "SessionStart", daemon.Change{})
	case !next.Active():
		return r.failed(daemon.CodeSuccessorGone, "The successor ended before it registered: %s", r.endReason(next))
	}
	return r.awaitAnswer(next)
}

// injectSkill waits until the successor has the skill, and queues the injection prompt in the move to briefing.
func (r *handoffRun) injectSkill() outcome {
	next, out := r.successor()
	switch {
	case out != nil:
		return *out
	case !next.Active():
		return r.failed(daemon.CodeSuccessorGone, "The successor ended: %s", r.endReason(next))
	case next.SkillInjectedAt == nil:
		return stayFor(time.Second, daemon.Hold{})
	}
	c, bad := r.queuePrompt(next.ID)
	if bad != nil {
		return *bad
	}
	return moveTo(daemon.Briefing, "skill injected", c)
}

// queuePrompt makes the delivery of the injection prompt, after a last check of the context file that the prompt
// points to.
func (r *handoffRun) queuePrompt(successor int64) (daemon.Change, *outcome) {
	if !r.d.ContextIntact(r.h) {
		o := r.contextChanged()
		return daemon.Change{}, &o
	}
	id, err := r.d.Store.NextID(r.ctx, daemon.DeliveryIDs)
	if err != nil {
		return daemon.Change{}, &outcome{err: err}
	}
	r.heir.DeliveryID = &id
	dl := daemon.NewDelivery(id, successor, daemon.KindPrompt, *r.h.InjectionPrompt, r.h.Ref, r.now)
	dl.HandoffID = &r.h.ID
	return daemon.Change{NewDeliveries: []*daemon.Delivery{dl}}, nil
}

// brief waits until the successor's runtime has taken the injection prompt.
func (r *handoffRun) brief() outcome {
	dl, err := r.d.Store.Delivery(r.ctx, *r.heir.DeliveryID)
	if err != nil {
		return outcome{err: err}
	}
	next, out := r.successor()
	switch {
	case out != nil:
		return *out
	case dl.Has(daemon.Submitted):
		return moveTo(daemon.Completed, dl.Evidence, daemon.Change{})
	case dl.Has(daemon.NotSubmitted) && dl.EvidenceCode == daemon.EvidenceChanged:
		return r.contextChanged()
	case !next.Active():
		return r.failed(daemon.CodeSuccessorGone, "The successor ended before it took the injection prompt: %s", r.endReason(next))
	case dl.Verdict != nil:
		return r.failed(failureOf(&dl), "The injection prompt was not confirmed by the successor (%s)%s", dl.Evidence, r.d.Shows(r.ctx, next).Words())
	case dl.State != daemon.DeliveryQueued:
		return outcome{}
	}
	if left := r.d.TimeLeft(r.phaseAt, r.settings.RegistrationTimeout); left > 0 {
		return stayFor(left, cmp.Or(next.Hold.Value(), daemon.HoldNotReady.Hold()))
	}
	bad := r.failed(daemon.CodeSuccessorNotReady, "The successor could not be given the injection prompt within %s%s", r.settings.RegistrationTimeout, r.d.Shows(r.ctx, next).Words())
	dl.Decide(daemon.NotSubmitted, "registration_timeout", r.now)
	bad.with.Deliveries = []*daemon.Delivery{&dl}
	return bad
}
