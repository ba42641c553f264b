package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/daemon/words"
)

// ContextReport is the report of an agent's status line about the context window.
type ContextReport struct {
	SessionID string
	Tokens    int64
	Limit     int64 // the size of the window
	// CostUSD is what the session has cost so far; nil: the status line does not tell.
	CostUSD *float64
}

// ReportContext takes the report of a status line. It ignores a report about another session than the agent's current
// one, because a report about the old session may come after /clear.
func (d *Daemon) ReportContext(ctx context.Context, agentID int64, in ContextReport) error {
	if in.Tokens < 0 || in.Limit <= 0 {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadContext, "tokens must not be negative and limit must be positive")
	}
	for {
		a, err := d.Agent(ctx, agentID)
		switch {
		case err != nil:
			return err
		case !a.Active(), a.SessionID == nil, *a.SessionID != in.SessionID:
			return nil
		case in.CostUSD != nil:
			if err := d.reportCost(ctx, &a, in.SessionID, *in.CostUSD); err != nil {
				return fmt.Errorf("agent %d: cost: %w", agentID, err)
			}
			in.CostUSD = nil
		}
		err = d.setContext(ctx, &a, in.Tokens, &in.Limit, daemon.FromStatusLine)
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("agent %d: context: %w", agentID, err)
		}
		return nil
	}
}

// setContext commits how full an agent's window is, if that has changed. A change of the tier makes an event. A window of
// unknown size makes an alert, once (see unknownContext).
func (d *Daemon) setContext(ctx context.Context, a *daemon.Agent, tokens int64, limit *int64, source string) error {
	reason := "the size of its context window is not known"
	if limit != nil && knownWindow(tokens, limit) == nil {
		reason = fmt.Sprintf("its CLI says that its context window has %s tokens, but %s are in it", words.Tokens(*limit), words.Tokens(tokens))
	}
	limit = knownWindow(tokens, limit)
	was := daemon.ContextUse{}
	if a.Context != nil {
		was = *a.Context
		if limit == nil {
			limit = knownWindow(tokens, was.Limit) // the transcript does not say the size; the status line said it
		}
		if was.Tokens == tokens && (limit == nil && was.Limit == nil || limit != nil && was.Limit != nil && *was.Limit == *limit) {
			return nil
		}
	}
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	d.factsFor(a).useContext(&c, a, daemon.ContextUse{Tokens: tokens, Limit: limit, Source: source}, d.now())
	use := a.Context
	var unknown []*event.Event
	if use.Percent == nil {
		unknown = d.unknownContext(a, reason)
		c.Events = append(c.Events, unknown...)
	}
	err := d.commit(ctx, &c)
	if err != nil && len(unknown) > 0 { // the alert was not stored: raise it again at the next report
		d.memories.change(a.ID, func(m *agentMemory) { m.unknownTold = false })
	}
	return err
}

// useContext notes how full an agent's window was at a time. A noticeable change makes a sample in c, and a change of the tier
// an event.
func (f *Facts) useContext(c *daemon.Change, a *daemon.Agent, use daemon.ContextUse, at time.Time) {
	before, was := a.Context, daemon.TierNone
	if before != nil {
		was = before.Tier
	}
	if use.Limit = knownWindow(use.Tokens, use.Limit); use.Limit != nil {
		percent := math.Round(1000*float64(use.Tokens)/float64(*use.Limit)) / 10
		use.Percent, use.Tier = &percent, f.tier(a, percent)
	}
	a.NoteContext(&use)
	if use.Sampled(before) {
		c.Samples = append(c.Samples, daemon.ContextSample{AgentID: a.ID, At: at, Tokens: use.Tokens, Percent: use.Percent})
	}
	if use.Tier != was {
		c.Events = append(c.Events, f.tierEvent(a, was))
	}
}

// contextReported notes the use of the context window that a hook tells.
func (h *hookStep) contextReported() {
	use := h.p.Context
	if use.Tokens < 0 || use.Limit <= 0 {
		return
	}
	h.useContext(&h.out.Change, h.tx.Agent, daemon.ContextUse{Tokens: use.Tokens, Limit: &use.Limit, Source: daemon.FromHook}, h.in.At)
}

// unknownContext returns the alert that an agent is not handed over automatically, with the reason why. For each agent it
// returns the alert once, and nil after that. It returns nil where no automatic handoff could happen anyway.
func (d *Daemon) unknownContext(a *daemon.Agent, why string) []*event.Event {
	if a.Persona == nil || !d.factsFor(a).autoFor(a).Enabled {
		return nil
	}
	told := false
	d.memories.change(a.ID, func(m *agentMemory) { told, m.unknownTold = m.unknownTold, true })
	if told {
		return nil
	}
	e := d.event(event.AgentContextUnknown, &a.ID, nil, map[string]any{"message": fmt.Sprintf(
		"Agent %d (%s) is not handed over automatically: %s; watch its context, or start it with `understudy agent start`, which gives it a status line that reports it.",
		a.ID, a.Name, why)})
	e.Alert = true
	return []*event.Event{e}
}

// autoFor returns the settings of automatic handoffs for an agent: those of its persona, over the operator's.
func (f *Facts) autoFor(a *daemon.Agent) daemon.AutoSettings {
	auto, p := f.Settings.Handoff.Auto, f.persona(a)
	if p.Auto == "" {
		return auto
	}
	percent, err := strconv.Atoi(p.Auto)
	auto.Enabled = p.Auto != "off"
	if err == nil {
		auto.Trigger = percent
		auto.High = min(auto.High, percent)
		auto.Warn = min(auto.Warn, percent)
	}
	return auto
}

// HandsOver returns what tells whether the daemon hands an agent over by itself when its context is nearly full, and why not, although
// automatic handoffs are on. It reads no file, however many agents it is asked about, and says nothing of agents of other hosts: their own
// settings and personas decide.
func (d *Daemon) HandsOver() func(a *daemon.Agent) (will bool, why string) {
	f := d.facts()
	return func(a *daemon.Agent) (bool, string) {
		if a.Host != f.Host {
			return false, ""
		}
		return handsOver(f.autoFor(a), a)
	}
}

// tier returns the tier of a use in percent, by what holds for the agent.
func (f *Facts) tier(a *daemon.Agent, percent float64) daemon.Tier {
	switch auto := f.autoFor(a); {
	case percent >= float64(auto.High):
		return daemon.TierHigh
	case percent >= float64(auto.Warn):
		return daemon.TierWarn
	}
	return daemon.TierNormal
}

// tierEvent makes the event of a new tier. The event is an alert if the tier is high and the agent is not handed over by itself, so
// that nobody has to watch a meter.
func (f *Facts) tierEvent(a *daemon.Agent, was daemon.Tier) *event.Event {
	use := a.Context
	payload := map[string]any{"tier": use.Tier, "was": was, "tokens": use.Tokens, "limit": use.Limit, "percent": use.Percent}
	e := f.event(event.AgentContext, &a.ID, nil, payload)
	if will, why := handsOver(f.autoFor(a), a); use.Tier == daemon.TierHigh && a.Persona != nil && !will {
		if why != "" {
			why = ", and " + why
		}
		payload["message"] = fmt.Sprintf("Agent %d (%s) has used %s of its context%s: hand it over with `understudy handoff %d`.", a.ID, a.Name, words.Percent(*use.Percent), why, a.ID)
		e.Payload, e.Alert = event.Payload(payload), true
	}
	return e
}

// statusLineLate is how long after a turn the daemon waits for a report of the status line, if it started the agent itself.
// The report takes some 50 ms (measured with Claude Code 2.1.329).
const statusLineLate = 3 * time.Second

// measurement says whether an agent's transcript was read after its last turn.
type measurement struct {
	stopHook int64     // the hook of the Stop of that turn
	knownAt  time.Time // when this daemon first saw that hook
	read     bool
}

// measure reads an agent's use of its context from its transcript, once after each turn, unless a status line or hooks report it.
func (d *Daemon) measure(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if a.State != daemon.Idle || a.LastStop == 0 || !a.Measured() {
		return false, 0, nil
	}
	due, wait := d.measureDue(a)
	if !due {
		return false, wait, nil
	}
	used, window, ok, err := transcript.Use(d.runtimeOf(a), *a.TranscriptPath)
	if err != nil || !ok {
		events := d.unknownContext(a, "its transcript does not say how full its context is")
		if len(events) == 0 {
			return false, 0, nil
		}
		return false, 0, d.commit(ctx, &daemon.Change{Events: events})
	}
	before := a.Rev
	if err := d.setContext(ctx, a, used, sized(window), daemon.FromTranscript); err != nil {
		d.memories.change(a.ID, func(m *agentMemory) { m.measured = measurement{} })
		return false, 0, fmt.Errorf("agent %d: context: %w", a.ID, err)
	}
	return a.Rev != before, 0, nil
}

// sized returns the size of a window; nil: it is not known.
func sized(window int64) *int64 {
	if window > 0 {
		return &window
	}
	return nil
}

// measureAtRecord reads the use of an agent's context once more when its handoff is recorded. measure may still wait for a status line
// then, and what it has read is older than the document. If nothing can be read, the last numbers stay.
func measureAtRecord(d *Daemon, c *daemon.Change, a *daemon.Agent, at time.Time) {
	if !a.Measured() {
		return
	}
	used, window, ok, err := transcript.Use(d.runtimeOf(a), *a.TranscriptPath)
	if err != nil || !ok {
		return
	}
	limit := sized(window)
	if limit == nil && a.Context != nil {
		limit = a.Context.Limit
	}
	if a.Context == nil || a.Context.Tokens != used {
		d.factsFor(a).useContext(c, a, daemon.ContextUse{Tokens: used, Limit: limit, Source: daemon.FromTranscript}, at)
	}
}

// measureDue reports whether measure must read the transcript now. If so, it notes the transcript as read for this turn. If
// it is too early, wait says how long to wait.
func (d *Daemon) measureDue(a *daemon.Agent) (due bool, wait time.Duration) {
	d.memories.change(a.ID, func(all *agentMemory) {
		m := &all.measured
		if m.stopHook != a.LastStop {
			*m = measurement{stopHook: a.LastStop, knownAt: time.Now()}
		}
		if m.read {
			return
		}
		if a.Managed {
			wait = max(statusLineLate-time.Since(m.knownAt), 0)
		}
		due = wait == 0
		m.read = due
	})
	return due, wait
}

const (
	// autoAfter is how long an agent must have been registered before the daemon requests its handoff. If an agent and each
	// of its successors started with a full window, the daemon would otherwise hand over for ever.
	autoAfter = 2 * time.Minute
	// autoGrowth is how many percentage points the use must lie above the agent's ContextStart, for the same reason.
	autoGrowth = 10
)

// handOverFull requests the handoff of an agent whose context is nearly full, when the agent's turn has ended. If the agent
// was about to compact, handOverFull does not wait for the end of the turn. It requests one handoff for each agent, and no
// second one if that handoff fails.
func (d *Daemon) handOverFull(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	auto := d.factsFor(a).autoFor(a)
	if !auto.Enabled || a.Persona == nil || a.AutoAskedAt != nil || a.RegisteredAt == nil || a.StopAskedAt != nil {
		return false, 0, nil
	}
	if over, err := d.overBudget(ctx, a); err != nil || over {
		return false, time.Minute, err // the handoff would use more; it is requested tomorrow
	}
	if a.CompactHook == 0 {
		use := a.Context
		if a.State != daemon.Idle || use == nil || use.Percent == nil || *use.Percent < float64(auto.Trigger) ||
			a.ContextStart == nil || *use.Percent-*a.ContextStart < autoGrowth {
			return false, 0, nil
		}
		if young := autoAfter - d.timeSpent(*a.RegisteredAt); young > 0 {
			return false, young, nil
		}
	}
	in := HandoffRequest{Reason: daemon.ReasonContext, Force: true, auto: true}
	if a.CompactHook != 0 && d.CopiesSession(a) {
		// Use a fork, which does not compact. The runtime would compact before the agent reads an instruction.
		in.Mode = daemon.ModeGenerate
	}
	_, err = d.RequestHandoff(ctx, a.ID, in)
	switch told := daemon.RefusalIn(err); {
	case told != nil:
		return true, 0, d.tellNotHandedOver(ctx, a, told)
	case err != nil:
		return false, 0, fmt.Errorf("agent %d: automatic handoff: %w", a.ID, err)
	}
	return true, 0, nil
}

// tellNotHandedOver alerts the operator that the daemon could not request an agent's handoff. The daemon does not try again.
// If somebody else requested a handoff first, that handoff is as good, so tellNotHandedOver raises no alert.
func (d *Daemon) tellNotHandedOver(ctx context.Context, a *daemon.Agent, why *daemon.Error) error {
	a.NoteAutoAsked(d.now())
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	if why.Code != daemon.ErrHandoffOpen.Code {
		e := d.event(event.AgentHandoffRefused, &a.ID, nil, map[string]any{"code": why.Code, "message": fmt.Sprintf(
			"Agent %d (%s) is about to run out of context and could not be handed over: %s; put that right, then hand it over with `understudy handoff %d`.",
			a.ID, a.Name, words.TrimDot(why.Message), a.ID)})
		e.Alert = true
		c.Events = append(c.Events, e)
	}
	return d.commit(ctx, &c)
}
