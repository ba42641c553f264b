package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// HandoffRequest holds the choices of somebody who requests a handoff.
type HandoffRequest struct {
	Reason string // default: manual
	Focus  string // what the document should focus on; may be empty
	Mode   Mode   // ModeAgent (the default) or ModeGenerate
	Force  bool   // hand over even if the conversation is empty, and even if a generated document says next to nothing
	Heirs  []Heir // empty: one, which is as the outgoing agent
	Keep   bool   // the outgoing agent lives on, beside its heirs
	// InPlace says whether the successor takes the pane of the outgoing agent; nil: as the setting handoff.in_place says.
	InPlace *bool
	// DropMessages drops the messages that are queued for the outgoing agent at the record. They are not passed on.
	DropMessages bool
	Self         bool // the outgoing agent itself asks: only for what the setting handoff.targets allows

	auto     bool // the daemon itself requests the handoff, which it does once for each agent
	ForLimit bool // the daemon itself requests the handoff that was decided about a limit

	id int64 // the id that an attempt to commit the row has drawn, for the next one; 0: none
}

// maxFocus is the longest focus, in characters.
const maxFocus = 10_000

// RequestHandoff commits the row of a new handoff, which wakes the agent's lane. It does not wait for the agent.
func (d *Daemon) RequestHandoff(ctx context.Context, agentID int64, in HandoffRequest) (Handoff, error) {
	in.Reason, in.Mode = cmp.Or(in.Reason, "manual"), cmp.Or(in.Mode, ModeAgent)
	if err := in.check(); err != nil {
		return Handoff{}, err
	}
	for {
		h, err := d.requestHandoff(ctx, agentID, &in)
		switch {
		case errors.Is(err, ErrMoved) && ctx.Err() == nil:
			continue // another request took the path of the document, or the agent's row has changed: check again
		case errors.Is(err, ErrOpenHandoff):
			return Handoff{}, ErrHandoffOpen
		case err != nil:
			return Handoff{}, err
		}
		return *h, nil
	}
}

// requestHandoff is one attempt of RequestHandoff to commit the row.
func (d *Daemon) requestHandoff(ctx context.Context, agentID int64, in *HandoffRequest) (*Handoff, error) {
	a, err := d.Agent(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case !a.Active():
		return nil, errAgentNotActive
	case a.Persona == nil:
		return nil, ErrAgentNoPersona
	case !a.HasPane() && !a.launching():
		return nil, a.noPaneError()
	case a.StepID != nil && a.StopAskedAt != nil:
		return nil, ErrAgentStopping
	case in.ForLimit && !a.awaitsLimitHandoff():
		return nil, Errorf(KindConflict, CodeAgentNotLimited, "Agent is not limited any more")
	}
	earlier, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Limit: 500})
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, h := range earlier {
		if h.Open() || h.RecordedAt != nil && h.claims() {
			return nil, ErrHandoffOpen
		}
		taken[h.FilePath] = true
	}
	// A successor has nothing to hand over before it has its injection prompt.
	arriving, err := d.Store.Handoffs(ctx, HandoffFilter{SuccessorID: agentID, Open: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(arriving) > 0 && arriving[0].awaits(agentID) {
		return nil, ErrHandoffOpen
	}
	if err := d.checkPersona(a.Host, *a.Persona); err != nil {
		return nil, err
	}
	heirs, err := d.heirsOf(&a, in)
	if err != nil {
		return nil, err
	}
	if !in.Force && d.conversationIsEmpty(&a) {
		return nil, errNothingToHandOff
	}
	if err := d.checkWriter(&a, in.Mode); err != nil {
		return nil, err
	}
	if err := canHandOver(ctx, d, &a, heirs); err != nil {
		return nil, err
	}
	dir, err := d.dataDirOf(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	h, err := d.newHandoff(ctx, dir, &a, in, heirs, taken)
	if err != nil {
		return nil, err
	}
	c := Change{NewHandoff: h, Events: []*event.Event{d.event(event.HandoffStarted, &agentID, &h.ID, map[string]any{
		"reason": h.Reason, "mode": h.Mode, "persona": h.Persona, "ref": h.Ref, "file_path": h.FilePath,
		"targets": h.Targets(), "keep": h.Keep, "in_place": h.InPlace, "warnings": h.Warnings,
	}).For(a.PipelineID, a.StepID)}}
	if in.auto {
		a.AutoAskedAt = &h.CreatedAt
	}
	if in.ForLimit {
		a.noteLimitHandoff(h.ID, in.Heirs[0].Runtime)
	}
	c.WriteAgent(&a) // write the agent's row as well: if its step ends at the same time, one of the two commits gets ErrMoved
	if err := d.commit(ctx, &c); err != nil {
		return nil, fmt.Errorf("agent %d: handoff: %w", agentID, err)
	}
	d.logHandoff(h, "handoff_started", slog.LevelInfo, "")
	return h, nil
}

func (in *HandoffRequest) check() error {
	if err := CheckLine("reason", in.Reason, 200); err != nil {
		return err
	}
	if err := checkMode(in.Mode); err != nil {
		return err
	}
	if n := len([]rune(in.Focus)); n > maxFocus {
		return Errorf(KindInvalid, CodeBadFocus, "focus has %d characters but at most %d are allowed", n, maxFocus)
	}
	if _, i := ControlIn(in.Focus, "\n\t"); i >= 0 {
		return Errorf(KindInvalid, CodeBadFocus, "focus must not contain control characters")
	}
	return in.checkHeirs()
}

func checkMode(mode Mode) error {
	if mode != ModeAgent && mode != ModeGenerate && mode != ModeTranscript {
		return Errorf(KindInvalid, CodeBadMode, "mode must be agent, generate or transcript")
	}
	return nil
}

// checkWriter refuses mode generate for an agent whose runtime cannot copy a session. A generic runtime of another host is
// known to that host only; there the handoff fails when it comes to the copy.
func (d *Daemon) checkWriter(a *Agent, mode Mode) error {
	if mode != ModeGenerate || d.CopiesSession(a) {
		return nil
	}
	return Errorf(KindUnprocessable, CodeCannotCopySession,
		"No copy of the agent's session can write the document, because its runtime %s cannot copy a session: ask the agent itself with mode agent", a.Runtime)
}

// CopiesSession reports whether a copy of the agent's session can write a document, as far as this host knows.
func (d *Daemon) CopiesSession(a *Agent) bool {
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	return rt.Can.Copies() || err != nil && a.Host != d.Host
}

// conversationIsEmpty reports whether the daemon knows that the agent's conversation is empty, which means that it has fewer
// than two messages. The daemon does not know the conversation of another host's agent.
func (d *Daemon) conversationIsEmpty(a *Agent) bool {
	if a.Host != d.Host || a.RegisteredAt == nil {
		return false
	}
	if a.TranscriptPath == nil { // ask the hooks
		return a.Resume == "" && a.LastPrompt == 0 && !hadTurn(a)
	}
	n, err := transcript.Count(d.runtimeOf(a), *a.TranscriptPath, 2)
	if errors.Is(err, fs.ErrNotExist) {
		// The runtime makes the file at the first prompt, so ask the hooks.
		return a.LastPrompt == 0 && a.LastStop == 0
	}
	// After a Stop the conversation is not empty, even if the file has no answer yet. The runtime writes the answer into the
	// file a moment after the Stop: 60 ms with Claude Code 2.1.329, more on a busy machine.
	return err == nil && n < 2 && (a.LastPrompt == 0 || a.LastStop < a.LastPrompt)
}

// dataDirOf returns the data directory of a host.
func (d *Daemon) dataDirOf(ctx context.Context, host string) (data.Dir, error) {
	if host == d.Host {
		return d.Data, nil
	}
	root, err := d.Store.HostRoot(ctx, host)
	if err != nil {
		return data.Dir{}, NotFoundAs(err, Errorf(KindConflict, CodeOtherHost, "That is on host %s, which was never seen on this database", host))
	}
	return data.At(root), nil
}

// checkPersona refuses a persona that agents cannot play. Only the daemon of a host knows the personas of that host, so for
// another host checkPersona checks only the form of the slug.
func (d *Daemon) checkPersona(host, slug string) error {
	if host == d.Host {
		_, err := d.persona(slug)
		return err
	}
	if _, err := personas.ParseSlug(slug); err != nil {
		return &Error{Kind: KindUnprocessable, Code: CodeUnknownPersona, Message: "Persona " + strconv.Quote(slug) + " does not exist: `understudy persona list` shows those that do", Cause: err}
	}
	return nil
}

// requireThisHost refuses an act that only the daemon of the given host can do, unless this is that host.
func (d *Daemon) requireThisHost(host string) error {
	if host == d.Host {
		return nil
	}
	return Errorf(KindConflict, CodeOtherHost, "That is on host %s: ask the daemon there", host)
}

// newHandoff makes the row. The name of the document contains the time of the request, in seconds. If that name is taken,
// newHandoff uses the next second, so that nobody mistakes one handoff's document for another's.
func (d *Daemon) newHandoff(ctx context.Context, where data.Dir, a *Agent, in *HandoffRequest, heirs []HandoffHeir, taken map[string]bool) (*Handoff, error) {
	if in.id == 0 {
		id, err := d.Store.NextID(ctx, HandoffIDs)
		if err != nil {
			return nil, err
		}
		in.id = id
	}
	now := d.now()
	dir := where.Handoffs(*a.Persona)
	path := ""
	for at := now; ; at = at.Add(time.Second) {
		path = filepath.Join(dir, data.HandoffName(at, a.ID))
		if _, err := os.Lstat(path); err != nil && !taken[path] {
			break
		}
	}
	target := heirNames(a, heirs)
	return &Handoff{
		ID: in.id, Ref: newRef(d.Random, a.Name, target, now), AgentID: a.ID, Persona: *a.Persona, Reason: in.Reason, Focus: in.Focus,
		Generation: a.Generation, Mode: in.Mode, Status: StatusPending, Phase: Requested, FilePath: path, SourceAgent: a.Name, TargetAgent: target,
		Keep: in.Keep, InPlace: d.inPlace(a, in, heirs), Heirs: heirs, DropMessages: in.DropMessages, Forced: in.Force,
		Warnings: d.accounts.handoffWarnings(d, a, heirs), Missing: []string{}, Metrics: Metrics{Phases: map[Phase]int64{}}, CreatedAt: now, PhaseAt: now, Host: a.Host,
	}, nil
}

// Handoff returns one handoff.
func (d *Daemon) Handoff(ctx context.Context, id int64) (Handoff, error) {
	h, err := d.Store.Handoff(ctx, id)
	if err != nil {
		return h, NotFoundAs(err, errHandoffNotFound)
	}
	list := []Handoff{h}
	err = d.withReading(ctx, list)
	return list[0], err
}

// Handoffs lists handoffs, the newest first.
func (d *Daemon) Handoffs(ctx context.Context, f HandoffFilter) ([]Handoff, error) {
	list, err := d.Store.Handoffs(ctx, f)
	if err != nil {
		return nil, err
	}
	return list, d.withReading(ctx, list)
}

// Transitions returns the moves of a handoff, in order.
func (d *Daemon) Transitions(ctx context.Context, id int64) ([]Transition, error) {
	if _, err := d.Handoff(ctx, id); err != nil {
		return nil, err
	}
	return d.Store.Transitions(ctx, id)
}

// LatestHandoff returns the newest handoff of an outgoing agent.
func (d *Daemon) LatestHandoff(ctx context.Context, agentID int64) (Handoff, error) {
	if _, err := d.Agent(ctx, agentID); err != nil {
		return Handoff{}, err
	}
	list, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Limit: 1})
	if err != nil {
		return Handoff{}, err
	}
	if len(list) == 0 {
		return Handoff{}, errHandoffNotFound
	}
	err = d.withReading(ctx, list)
	return list[0], err
}

// CancelHandoff cancels an agent's open handoff, which is possible until its document is recorded. If id is not 0, it
// cancels only the handoff with that id; if id is 0, it cancels the agent's newest handoff.
func (d *Daemon) CancelHandoff(ctx context.Context, agentID, id int64) (Handoff, error) {
	for {
		h, err := d.handoffToCancel(ctx, agentID, id)
		switch {
		case err != nil:
			return h, err
		case h.Cancellable():
		case h.RecordedAt != nil:
			return h, Errorf(KindConflict, CodeHandoffRecorded, "Handoff can no longer be cancelled: its document is recorded")
		default:
			return h, Errorf(KindConflict, CodeHandoffEnded, "Handoff has ended: it is %s", h.Status)
		}
		err = d.cancel(ctx, &h)
		if errors.Is(err, ErrMoved) && ctx.Err() == nil {
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
func (d *Daemon) handoffToCancel(ctx context.Context, agentID, id int64) (Handoff, error) {
	newest, err := d.LatestHandoff(ctx, agentID)
	switch {
	case err != nil || id == 0 || newest.ID == id:
		return newest, err
	case newest.Open():
		return newest, Errorf(KindConflict, CodeAnotherHandoff, "Agent %d is in handoff %d by now, not in %d: look at it again", agentID, newest.ID, id)
	}
	h, err := d.Handoff(ctx, id)
	if err == nil && h.AgentID != agentID {
		err = errHandoffNotFound
	}
	return h, err
}

func (d *Daemon) cancel(ctx context.Context, h *Handoff) error {
	c, err := d.cancelChange(ctx, h, d.now())
	if err != nil {
		return err
	}
	if err := d.commit(ctx, c); err != nil {
		return fmt.Errorf("handoff %d: cancel: %w", h.ID, err)
	}
	d.endFork(h.AgentID)
	return nil
}

// cancelChange returns the change that cancels a handoff which has no record yet.
func (d *Daemon) cancelChange(ctx context.Context, h *Handoff, now time.Time) (*Change, error) {
	if h.DeliveryID == nil {
		return d.facts().cancelled(h, nil, "", now), nil
	}
	dl, err := d.Store.Delivery(ctx, *h.DeliveryID)
	if err != nil {
		return nil, err
	}
	return d.facts().cancelled(h, &dl, "", now), nil
}

// cancelled returns the change that cancels a handoff which has no record yet. dl is the delivery that its phase waits for;
// nil: none. where ends the sentence that says that it was cancelled.
func (f *Facts) cancelled(h *Handoff, dl *Delivery, where string, now time.Time) *Change {
	from := h.Phase
	c := &Change{}
	if dl != nil && dl.State == DeliveryQueued {
		dl.decide(NotSubmitted, "the handoff was cancelled", now)
		c.Deliveries = []*Delivery{dl}
	}
	spent := h.enterPhase(Cancelled, now, f.Settings.Handoff)
	h.CompletedAt = &now
	h.Error = &Failure{Phase: from, Code: CodeCancelled, Message: "Handoff cancelled" + where}
	c.Move = &Move{Handoff: h, From: from, Cause: "cancelled" + where}
	c.Events = []*event.Event{f.event(event.HandoffCancelled, &h.AgentID, &h.ID, map[string]any{
		"phase": from, "phase_ms": spent, "persona": h.Persona, "message": fmt.Sprintf("Handoff %d was cancelled%s.", h.ID, where),
	})}
	return c
}
