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

// HandoffRequest is what a handoff is asked for with.
type HandoffRequest struct {
	Reason string // default: manual
	Focus  string // what the document should focus on; may be empty
	Mode   Mode   // ModeAgent (the default) or ModeGenerate
	Force  bool   // even if there is nothing to hand off

	auto bool // the daemon asks; it does so once for an agent
}

// maxFocus is the longest focus, in characters.
const maxFocus = 10_000

// RequestHandoff commits a new handoff's row and wakes its flow. It does not wait for the agent.
func (d *Daemon) RequestHandoff(ctx context.Context, agentID int64, in HandoffRequest) (Handoff, error) {
	in.Reason, in.Mode = cmp.Or(in.Reason, "manual"), cmp.Or(in.Mode, ModeAgent)
	if err := in.check(); err != nil {
		return Handoff{}, err
	}
	for {
		h, err := d.requestHandoff(ctx, agentID, in)
		switch {
		case errors.Is(err, ErrMoved) && ctx.Err() == nil:
			continue // another request took the document's path
		case errors.Is(err, ErrOpenHandoff):
			return Handoff{}, errHandoffOpen
		case err != nil:
			return Handoff{}, err
		}
		return *h, nil
	}
}

// requestHandoff is one attempt at a new row.
func (d *Daemon) requestHandoff(ctx context.Context, agentID int64, in HandoffRequest) (*Handoff, error) {
	a, err := d.Agent(ctx, agentID)
	switch {
	case err != nil:
		return nil, err
	case !a.Active():
		return nil, errAgentNotActive
	case a.Persona == nil:
		return nil, errAgentNoPersona
	case !a.HasPane() && !a.launching():
		return nil, errAgentNoPane
	case a.StepID != nil && a.StopAskedAt != nil:
		return nil, errAgentStopping
	}
	earlier, err := d.Store.Handoffs(ctx, HandoffFilter{AgentID: agentID, Limit: 500})
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, h := range earlier {
		if h.Open() || h.RecordedAt != nil {
			return nil, errHandoffOpen
		}
		taken[h.FilePath] = true
	}
	// A successor that has not been told yet what it takes over has nothing to hand on.
	arriving, err := d.Store.Handoffs(ctx, HandoffFilter{SuccessorID: agentID, Open: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(arriving) > 0 {
		return nil, errHandoffOpen
	}
	if err := d.checkPersona(a.Host, *a.Persona); err != nil {
		return nil, err
	}
	if !in.Force && d.conversationIsEmpty(&a) {
		return nil, errNothingToHandOff
	}
	dir, err := d.dataDirOf(ctx, a.Host)
	if err != nil {
		return nil, err
	}
	h, err := d.newHandoff(ctx, dir, &a, in, taken)
	if err != nil {
		return nil, err
	}
	c := Change{NewHandoff: h, Events: []*event.Event{d.event(event.HandoffStarted, &agentID, &h.ID, map[string]any{
		"reason": h.Reason, "mode": h.Mode, "persona": h.Persona, "ref": h.Ref, "file_path": h.FilePath,
	}).For(a.PipelineID, a.StepID)}}
	if in.auto {
		a.AutoAskedAt = &h.CreatedAt
	}
	c.write(&a) // of this and of the end of its step one is second
	if err := d.commit(ctx, &c); err != nil {
		return nil, fmt.Errorf("agent %d: handoff: %w", agentID, err)
	}
	d.logHandoff(h, "handoff_started", slog.LevelInfo, "")
	return h, nil
}

func (in *HandoffRequest) check() error {
	if err := checkLine("reason", in.Reason, 200); err != nil {
		return err
	}
	if err := checkMode(in.Mode); err != nil {
		return err
	}
	if n := len([]rune(in.Focus)); n > maxFocus {
		return Errorf(KindInvalid, CodeBadFocus, "focus has %d characters but at most %d are allowed", n, maxFocus)
	}
	if _, i := controlIn(in.Focus, "\n\t"); i >= 0 {
		return Errorf(KindInvalid, CodeBadFocus, "focus must not contain control characters")
	}
	return nil
}

func checkMode(mode Mode) error {
	if mode != ModeAgent && mode != ModeGenerate {
		return Errorf(KindInvalid, CodeBadMode, "mode must be agent or generate")
	}
	return nil
}

// conversationIsEmpty reports whether it is known that an agent's conversation has no content yet: fewer
// than two messages. Of another host's agents it is not known here.
func (d *Daemon) conversationIsEmpty(a *Agent) bool {
	if a.Host != d.Host || a.RegisteredAt == nil || a.TranscriptPath == nil {
		return false
	}
	n, err := transcript.Count(*a.TranscriptPath, 2)
	if errors.Is(err, fs.ErrNotExist) {
		// The runtime makes the file with the first prompt.
		return a.LastPrompt == 0 && a.LastStop == 0
	}
	// The runtime writes an answer down a moment after its Stop: 60 ms with Claude Code 2.1.329, more
	// on a busy machine.
	return err == nil && n < 2 && (a.LastPrompt == 0 || a.LastStop < a.LastPrompt)
}

// dataDirOf returns the data directory of a host.
func (d *Daemon) dataDirOf(ctx context.Context, host string) (data.Dir, error) {
	if host == d.Host {
		return d.Data, nil
	}
	root, err := d.Store.HostRoot(ctx, host)
	if err != nil {
		return data.Dir{}, notFound(err, Errorf(KindConflict, CodeOtherHost, "That is on host %s, which was never seen on this database", host))
	}
	return data.At(root), nil
}

// checkPersona refuses a persona that can't be played. Of another host's personas that host's daemon
// knows; here only the name is checked.
func (d *Daemon) checkPersona(host, slug string) error {
	if host == d.Host {
		_, err := d.persona(slug)
		return err
	}
	if _, err := personas.ParseSlug(slug); err != nil {
		return &Error{Kind: KindUnprocessable, Code: CodeUnknownPersona, Message: "Persona " + strconv.Quote(slug) + " does not exist", Cause: err}
	}
	return nil
}

// requireThisHost refuses what only the daemon of a host can do.
func (d *Daemon) requireThisHost(host string) error {
	if host == d.Host {
		return nil
	}
	return Errorf(KindConflict, CodeOtherHost, "That is on host %s: ask the daemon there", host)
}

// newHandoff makes the row. The path is named by the second, so an earlier handoff of the same
// second takes the next one: a document is never taken for another's.
func (d *Daemon) newHandoff(ctx context.Context, where data.Dir, a *Agent, in HandoffRequest, taken map[string]bool) (*Handoff, error) {
	id, err := d.Store.NextID(ctx, HandoffIDs)
	if err != nil {
		return nil, err
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
	return &Handoff{
		ID: id, Ref: newRef(d.Random, a.Name, a.Name, now), AgentID: a.ID, Persona: *a.Persona, Reason: in.Reason, Focus: in.Focus,
		Generation: a.Generation, Mode: in.Mode, Status: StatusPending, Phase: Requested, FilePath: path, SourceAgent: a.Name, TargetAgent: a.Name,
		Warnings: []string{}, Metrics: Metrics{Phases: map[Phase]int64{}}, CreatedAt: now, PhaseAt: now, Host: a.Host,
	}, nil
}

// Handoff returns one handoff.
func (d *Daemon) Handoff(ctx context.Context, id int64) (Handoff, error) {
	h, err := d.Store.Handoff(ctx, id)
	return h, notFound(err, errHandoffNotFound)
}

// Handoffs lists handoffs, the newest first.
func (d *Daemon) Handoffs(ctx context.Context, f HandoffFilter) ([]Handoff, error) {
	return d.Store.Handoffs(ctx, f)
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
	return list[0], nil
}

// CancelHandoff cancels an agent's open handoff, until its document is recorded. With the id of a handoff
// it cancels that one and no other; 0 is the agent's newest.
func (d *Daemon) CancelHandoff(ctx context.Context, agentID, id int64) (Handoff, error) {
	for {
		h, err := d.handoffToCancel(ctx, agentID, id)
		switch {
		case err != nil:
			return h, err
		case h.cancellable():
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

// handoffToCancel returns the handoff of the agent that is meant. An older one than the newest is open
// after a retry.
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

// cancelChange is the change that cancels a handoff which is not recorded.
func (d *Daemon) cancelChange(ctx context.Context, h *Handoff, now time.Time) (*Change, error) {
	from := h.Phase
	c := &Change{}
	if h.DeliveryID != nil {
		dl, err := d.Store.Delivery(ctx, *h.DeliveryID)
		if err != nil {
			return nil, err
		}
		if dl.State == DeliveryQueued {
			dl.decide(NotSubmitted, "the handoff was cancelled", now)
			c.Deliveries = []*Delivery{&dl}
		}
	}
	spent := h.enterPhase(Cancelled, now, d.Settings.Handoff)
	h.CompletedAt = &now
	h.Error = &Failure{Phase: from, Code: CodeCancelled, Message: "Handoff cancelled"}
	c.Move = &Move{Handoff: h, From: from, Cause: "cancelled"}
	c.Events = []*event.Event{d.event(event.HandoffCancelled, &h.AgentID, &h.ID, map[string]any{"phase": from, "phase_ms": spent, "persona": h.Persona})}
	return c, nil
}

// Document returns a handoff's document as it stands on disk; if it is not there any more, or on
// another machine, as it was recorded.
func (d *Daemon) Document(ctx context.Context, id int64) ([]byte, error) {
	h, err := d.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	dir, err := d.dataDirOf(ctx, h.Host)
	if err != nil {
		return nil, err
	}
	doc, err := data.ReadDocument(dir.Handoffs(h.Persona), h.FilePath, d.Settings.Handoff.MaxDocumentBytes)
	bad := (*data.DocumentError)(nil)
	if !errors.As(err, &bad) {
		return doc.Bytes, err
	}
	if rec, err := d.Store.Record(ctx, id); err == nil {
		return []byte(rec.Document), nil
	}
	return nil, Errorf(KindNotFound, Code(bad.Code), "%s", bad.Message)
}

// ContextFile returns a handoff's context file as it was recorded.
func (d *Daemon) ContextFile(ctx context.Context, id int64) ([]byte, error) {
	h, err := d.Handoff(ctx, id)
	if err != nil {
		return nil, err
	}
	missing := Errorf(KindNotFound, CodeContextMissing, "Handoff has no context file yet")
	if h.ContextPath == nil {
		return nil, missing
	}
	rec, err := d.Store.Record(ctx, id)
	if !errors.Is(err, ErrNotFound) {
		return []byte(rec.Context), err
	}
	dir, err := d.dataDirOf(ctx, h.Host) // recorded before copies were kept
	if err != nil {
		return nil, err
	}
	file, err := data.ReadDocument(dir.Handoffs(h.Persona), *h.ContextPath, h.Metrics.ContextSizeBytes)
	if bad := (*data.DocumentError)(nil); errors.As(err, &bad) {
		return nil, missing
	}
	return file.Bytes, err
}

// Events reads the log.
func (d *Daemon) Events(ctx context.Context, f EventFilter) ([]event.Event, error) {
	return d.Store.Events(ctx, f)
}

// LastEventID returns the newest event's id, 0 when there is none.
func (d *Daemon) LastEventID(ctx context.Context) (int64, error) { return d.Store.LastEventID(ctx) }

// Subscribe returns a channel of new events, and a function that ends the subscription. The
// channel is closed when its reader falls behind or the daemon ends; a reader that comes back asks
// the log for what it missed.
func (d *Daemon) Subscribe() (<-chan *Published, func()) { return d.hub.subscribe() }
