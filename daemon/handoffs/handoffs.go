package handoffs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/data"
)

// HandoffRequest holds the choices of somebody who requests a handoff.
type HandoffRequest struct {
	Reason string        // default: manual
	Focus  string        // what the document should focus on; may be empty
	Mode   daemon.Mode   // ModeAgent (the default) or ModeGenerate
	Force  bool          // hand over even if the conversation is empty, even if a generated document says next to nothing, and even if a document seems to have secrets
	Heirs  []daemon.Heir // empty: one, which is as the outgoing agent
	Keep   bool          // the outgoing agent lives on, beside its heirs
	// InPlace says whether the successor takes the pane of the outgoing agent; nil: as the setting handoff.in_place says.
	InPlace *bool
	// DropMessages drops the messages that are queued for the outgoing agent at the record. They are not passed on.
	DropMessages bool
	Self         bool // the outgoing agent itself asks: only for what the setting handoff.targets allows

	Auto     bool // the daemon itself requests the handoff, which it does once for each agent
	ForLimit bool // the daemon itself requests the handoff that was decided about a limit

	id int64 // the id that an attempt to commit the row has drawn, for the next one; 0: none
}

// maxFocus is the longest focus, in characters.
const maxFocus = 10_000

// RequestHandoff commits the row of a new handoff, which wakes the agent's lane. It does not wait for the agent.
func (d *Flow) RequestHandoff(ctx context.Context, agentID int64, in HandoffRequest) (daemon.Handoff, error) {
	in.Reason, in.Mode = cmp.Or(in.Reason, "manual"), cmp.Or(in.Mode, daemon.ModeAgent)
	if err := in.check(); err != nil {
		return daemon.Handoff{}, err
	}
	for {
		h, err := d.requestHandoff(ctx, agentID, &in)
		switch {
		case errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil:
			continue // another request took the path of the document, or the agent's row has changed: check again
		case errors.Is(err, daemon.ErrOpenHandoff):
			return daemon.Handoff{}, daemon.ErrHandoffOpen
		case err != nil:
			return daemon.Handoff{}, err
		}
		return *h, nil
	}
}

// requestHandoff is one attempt of RequestHandoff to commit the row.
func (d *Flow) requestHandoff(ctx context.Context, agentID int64, in *HandoffRequest) (*daemon.Handoff, error) {
	a, err := d.Agent(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case !a.Active():
		return nil, daemon.ErrAgentNotActive
	case a.Persona == nil:
		return nil, daemon.ErrAgentNoPersona
	case !a.HasPane() && !a.Launching():
		return nil, a.NoPaneError()
	case a.StepID != nil && a.StopAskedAt != nil:
		return nil, daemon.ErrAgentStopping
	case in.ForLimit && !a.AwaitsLimitHandoff():
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentNotLimited, "Agent is not limited any more")
	}
	earlier, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: agentID, Limit: 500})
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, h := range earlier {
		if h.Open() || h.RecordedAt != nil && Claims(&h) {
			return nil, daemon.ErrHandoffOpen
		}
		taken[h.FilePath] = true
	}
	// A successor has nothing to hand over before it has its injection prompt.
	arriving, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: agentID, Open: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(arriving) > 0 && Awaits(&arriving[0], agentID) {
		return nil, daemon.ErrHandoffOpen
	}
	if err := d.CheckPersona(a.Host, *a.Persona); err != nil {
		return nil, err
	}
	heirs, err := d.heirsOf(&a, in)
	if err != nil {
		return nil, err
	}
	if !in.Force && d.conversationIsEmpty(&a) {
		return nil, daemon.ErrNothingToHandOff
	}
	if err := d.checkWriter(&a, in.Mode); err != nil {
		return nil, err
	}
	if err := canHandOver(ctx, d, &a, heirs); err != nil {
		return nil, err
	}
	dir, err := d.DataDirOf(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	h, err := d.newHandoff(ctx, dir, &a, in, heirs, taken)
	if err != nil {
		return nil, err
	}
	c := daemon.Change{NewHandoff: h, Events: []*event.Event{d.Event(event.HandoffStarted, &agentID, &h.ID, map[string]any{
		"reason": h.Reason, "mode": h.Mode, "persona": h.Persona, "ref": h.Ref, "file_path": h.FilePath,
		"targets": h.Targets(), "keep": h.Keep, "in_place": h.InPlace, "warnings": h.Warnings,
	}).For(a.PipelineID, a.StepID)}}
	if in.Auto {
		a.NoteAutoAsked(h.CreatedAt)
	}
	if in.ForLimit {
		a.NoteLimitHandoff(h.ID, in.Heirs[0].Runtime)
	}
	c.WriteAgent(&a) // write the agent's row as well: if its step ends at the same time, one of the two commits gets ErrMoved
	if err := d.Commit(ctx, &c); err != nil {
		return nil, fmt.Errorf("agent %d: handoff: %w", agentID, err)
	}
	d.logHandoff(h, "handoff_started", slog.LevelInfo, "")
	return h, nil
}

func (in *HandoffRequest) check() error {
	if err := daemon.CheckLine("reason", in.Reason, 200); err != nil {
		return err
	}
	if err := checkMode(in.Mode); err != nil {
		return err
	}
	if n := len([]rune(in.Focus)); n > maxFocus {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadFocus, "focus has %d characters but at most %d are allowed", n, maxFocus)
	}
	if _, i := deliveries.ControlIn(in.Focus, "\n\t"); i >= 0 {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadFocus, "focus must not contain control characters")
	}
	return in.checkHeirs()
}

func checkMode(mode daemon.Mode) error {
	if mode != daemon.ModeAgent && mode != daemon.ModeGenerate && mode != daemon.ModeTranscript {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadMode, "mode must be agent, generate or transcript")
	}
	return nil
}

// checkWriter refuses mode generate for an agent whose runtime cannot copy a session. A generic runtime of another host is
// known to that host only; there the handoff fails when it comes to the copy.
func (d *Flow) checkWriter(a *daemon.Agent, mode daemon.Mode) error {
	if mode != daemon.ModeGenerate || d.CopiesSession(a) {
		return nil
	}
	return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeCannotCopySession,
		"No copy of the agent's session can write the document, because its runtime %s cannot copy a session: ask the agent itself with mode agent", a.Runtime)
}

// CopiesSession reports whether a copy of the agent's session can write a document, as far as this host knows.
func (d *Flow) CopiesSession(a *daemon.Agent) bool {
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	return rt.Can.Copies() || err != nil && a.Host != d.Host
}

// conversationIsEmpty reports whether the daemon knows that the agent's conversation is empty, which means that it has fewer
// than two messages. The daemon does not know the conversation of another host's agent.
func (d *Flow) conversationIsEmpty(a *daemon.Agent) bool {
	if a.Host != d.Host || a.RegisteredAt == nil {
		return false
	}
	if a.TranscriptPath == nil { // ask the hooks
		return a.Resume == "" && a.LastPrompt == 0 && !deliveries.HadTurn(a)
	}
	n, err := transcript.Count(d.RuntimeOf(a), *a.TranscriptPath, 2)
	if errors.Is(err, fs.ErrNotExist) {
		// The runtime makes the file at the first prompt, so ask the hooks.
		return a.LastPrompt == 0 && a.LastStop == 0
	}
	// After a Stop the conversation is not empty, even if the file has no answer yet. The runtime writes the answer into the
	// file a moment after the Stop: 60 ms with Claude Code 2.1.329, more on a busy machine.
	return err == nil && n < 2 && (a.LastPrompt == 0 || a.LastStop < a.LastPrompt)
}

// newHandoff makes the row. The name of the document contains the time of the request, in seconds. If that name is taken,
// newHandoff uses the next second, so that nobody mistakes one handoff's document for another's.
func (d *Flow) newHandoff(ctx context.Context, where data.Dir, a *daemon.Agent, in *HandoffRequest, heirs []daemon.HandoffHeir, taken map[string]bool) (*daemon.Handoff, error) {
	if in.id == 0 {
		id, err := d.Store.NextID(ctx, daemon.HandoffIDs)
		if err != nil {
			return nil, err
		}
		in.id = id
	}
	now := d.Now()
	dir := where.Handoffs(*a.Persona)
	path := ""
	for at := now; ; at = at.Add(time.Second) {
		path = filepath.Join(dir, data.HandoffName(at, a.ID))
		if _, err := os.Lstat(path); err != nil && !taken[path] {
			break
		}
	}
	target := heirNames(a, heirs)
	return &daemon.Handoff{
		ID: in.id, Ref: agents.NewRef(d.Random, a.Name, target, now), AgentID: a.ID, Persona: *a.Persona, Reason: in.Reason, Focus: in.Focus,
		Generation: a.Generation, Mode: in.Mode, Status: daemon.StatusPending, Phase: daemon.Requested, FilePath: path, SourceAgent: a.Name, TargetAgent: target,
		Keep: in.Keep, InPlace: d.inPlace(a, in, heirs), Heirs: heirs, DropMessages: in.DropMessages, Forced: d.forced(in),
		Warnings: d.Accounts.HandoffWarnings(d.Sight, a, heirs), Missing: []string{}, Metrics: daemon.Metrics{Phases: map[daemon.Phase]int64{}}, CreatedAt: now, PhaseAt: now, Host: a.Host,
	}, nil
}

// forced reports whether a document is taken as it is. No agent lets its own secrets pass; at a limit, or when the context is full, there is
// nobody to ask again, and the document goes on with a warning.
func (d *Flow) forced(in *HandoffRequest) bool {
	return in.Force && (!in.Self || d.Settings().Handoff.Secrets != daemon.SecretsRefuse)
}

// Handoff returns one handoff.
func (d *Flow) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	h, err := d.Store.Handoff(ctx, id)
	if err != nil {
		return h, engine.NotFoundAs(err, daemon.ErrHandoffNotFound)
	}
	list := []daemon.Handoff{h}
	err = d.withReading(ctx, list)
	return list[0], err
}

// Handoffs lists handoffs, the newest first.
func (d *Flow) Handoffs(ctx context.Context, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	list, err := d.Store.Handoffs(ctx, f)
	if err != nil {
		return nil, err
	}
	return list, d.withReading(ctx, list)
}

// Transitions returns the moves of a handoff, in order.
func (d *Flow) Transitions(ctx context.Context, id int64) ([]daemon.Transition, error) {
	if _, err := d.Handoff(ctx, id); err != nil {
		return nil, err
	}
	return d.Store.Transitions(ctx, id)
}

// LatestHandoff returns the newest handoff of an outgoing agent.
func (d *Flow) LatestHandoff(ctx context.Context, agentID int64) (daemon.Handoff, error) {
	if _, err := d.Agent(ctx, agentID); err != nil {
		return daemon.Handoff{}, err
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: agentID, Limit: 1})
	if err != nil {
		return daemon.Handoff{}, err
	}
	if len(list) == 0 {
		return daemon.Handoff{}, daemon.ErrHandoffNotFound
	}
	err = d.withReading(ctx, list)
	return list[0], err
}

// CancelHandoff cancels an agent's open handoff, which is possible until its document is recorded. If id is not 0, it
// cancels only the handoff with that id; if id is 0, it cancels the agent's newest handoff.
func (d *Flow) CancelHandoff(ctx context.Context, agentID, id int64) (daemon.Handoff, error) {
	for {
		h, err := d.handoffToCancel(ctx, agentID, id)
		switch {
		case err != nil:
			return h, err
		case h.Cancellable():
		case h.RecordedAt != nil:
			return h, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffRecorded, "Handoff can no longer be cancelled: its document is recorded")
		default:
			return h, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffEnded, "Handoff has ended: it is %s", h.Status)
		}
		err = d.cancel(ctx, &h)
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return h, err
		}
		return d.Handoff(ctx, h.ID)
	}
}

// handoffToCancel finds the handoff that CancelHandoff must cancel. After a retry, the open handoff may not be the newest
// one.
func (d *Flow) handoffToCancel(ctx context.Context, agentID, id int64) (daemon.Handoff, error) {
	newest, err := d.LatestHandoff(ctx, agentID)
	switch {
	case err != nil || id == 0 || newest.ID == id:
		return newest, err
	case newest.Open():
		return newest, daemon.Errorf(daemon.KindConflict, daemon.CodeAnotherHandoff, "Agent %d is in handoff %d by now, not in %d: look at it again", agentID, newest.ID, id)
	}
	h, err := d.Handoff(ctx, id)
	if err == nil && h.AgentID != agentID {
		err = daemon.ErrHandoffNotFound
	}
	return h, err
}

func (d *Flow) cancel(ctx context.Context, h *daemon.Handoff) error {
	c, err := d.CancelChange(ctx, h, d.Now())
	if err != nil {
		return err
	}
	if err := d.Commit(ctx, c); err != nil {
		return fmt.Errorf("handoff %d: cancel: %w", h.ID, err)
	}
	d.EndFork(h.AgentID)
	return nil
}

// CancelChange returns the change that cancels a handoff which has no record yet.
func (d *Flow) CancelChange(ctx context.Context, h *daemon.Handoff, now time.Time) (*daemon.Change, error) {
	if h.DeliveryID == nil {
		return Cancelled(d.Facts(), h, nil, "", now), nil
	}
	dl, err := d.Store.Delivery(ctx, *h.DeliveryID)
	if err != nil {
		return nil, err
	}
	return Cancelled(d.Facts(), h, &dl, "", now), nil
}

// ReasonCommand is the reason of a handoff that a person has requested with /handoff in the agent's pane.
const ReasonCommand = "command"

// Cancelled returns the change that cancels a handoff which has no record yet. dl is the delivery that its phase waits for;
// nil: none. where ends the sentence that says that it was cancelled.
func Cancelled(f *engine.Facts, h *daemon.Handoff, dl *daemon.Delivery, where string, now time.Time) *daemon.Change {
	from := h.Phase
	c := &daemon.Change{}
	if dl != nil && dl.State == daemon.DeliveryQueued {
		dl.Decide(daemon.NotSubmitted, "the handoff was cancelled", now)
		c.Deliveries = []*daemon.Delivery{dl}
	}
	spent := h.EnterPhase(daemon.Cancelled, now, f.Settings.Handoff)
	h.Error = &daemon.Failure{Phase: from, Code: daemon.CodeCancelled, Message: "Handoff cancelled" + where}
	c.Move = &daemon.Move{Handoff: h, From: from, Cause: "cancelled" + where}
	c.Events = []*event.Event{f.Event(event.HandoffCancelled, &h.AgentID, &h.ID, map[string]any{
		"phase": from, "phase_ms": spent, "persona": h.Persona, "message": fmt.Sprintf("Handoff %d was cancelled%s.", h.ID, where),
	})}
	return c
}
