package usage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/transcript"
	"github.com/understudyd/understudy/daemon/words"
)

// ContextReport is the report of an agent's status line about the context window.
type ContextReport struct {
	SessionID string `json:"session_id"`
	Tokens    int64  `json:"tokens"`
	Limit     int64  `json:"limit"` // the size of the window
	// CostUSD is what the session has cost so far; nil: the status line does not tell.
	CostUSD *float64 `json:"cost_usd"`
}

// ReportContext takes the report of a status line. It ignores a report about another session than the agent's current
// one, because a report about the old session may come after /clear.
func (d *Room) ReportContext(ctx context.Context, agentID int64, in ContextReport) error {
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
func (d *Room) setContext(ctx context.Context, a *daemon.Agent, tokens int64, limit *int64, source string) error {
	reason := "the size of its context window is not known"
	if limit != nil && engine.KnownWindow(tokens, limit) == nil {
		reason = fmt.Sprintf("its CLI says that its context window has %s tokens, but %s are in it", words.Tokens(*limit), words.Tokens(tokens))
	}
	limit = engine.KnownWindow(tokens, limit)
	was := daemon.ContextUse{}
	if a.Context != nil {
		was = *a.Context
		if limit == nil {
			limit = engine.KnownWindow(tokens, was.Limit) // the transcript does not say the size; the status line said it
		}
		if was.Tokens == tokens && (limit == nil && was.Limit == nil || limit != nil && was.Limit != nil && *was.Limit == *limit) {
			return nil
		}
	}
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	d.FactsFor(a).UseContext(&c, a, daemon.ContextUse{Tokens: tokens, Limit: limit, Source: source}, d.Now())
	use := a.Context
	var unknown []*event.Event
	if use.Percent == nil {
		unknown = d.unknownContext(a, reason)
		c.Events = append(c.Events, unknown...)
	}
	err := d.Commit(ctx, &c)
	if err != nil && len(unknown) > 0 { // the alert was not stored: raise it again at the next report
		d.memories.Change(a.ID, func(m *memory) { m.unknownTold = false })
	}
	return err
}

// unknownContext returns the alert that an agent is not handed over automatically, with the reason why. For each agent it
// returns the alert once, and nil after that. It returns nil where no automatic handoff could happen anyway.
func (d *Room) unknownContext(a *daemon.Agent, why string) []*event.Event {
	if a.Persona == nil || !d.FactsFor(a).AutoFor(a).Enabled {
		return nil
	}
	told := false
	d.memories.Change(a.ID, func(m *memory) { told, m.unknownTold = m.unknownTold, true })
	if told {
		return nil
	}
	e := d.Event(event.AgentContextUnknown, &a.ID, nil, map[string]any{"message": fmt.Sprintf(
		"Agent %d (%s) is not handed over automatically: %s; watch its context, or start it with `understudy agent start`, which gives it a status line that reports it.",
		a.ID, a.Name, why)})
	e.Alert = true
	return []*event.Event{e}
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
func (d *Room) measure(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	if a.State != daemon.Idle || a.LastStop == 0 || !a.Measured() {
		return false, 0, nil
	}
	due, wait := d.measureDue(a)
	if !due {
		return false, wait, nil
	}
	used, window, ok, err := transcript.Use(d.RuntimeOf(a), *a.TranscriptPath)
	if err != nil || !ok {
		events := d.unknownContext(a, "its transcript does not say how full its context is")
		if len(events) == 0 {
			return false, 0, nil
		}
		return false, 0, d.Commit(ctx, &daemon.Change{Events: events})
	}
	before := a.Rev
	if err := d.setContext(ctx, a, used, engine.Sized(window), daemon.FromTranscript); err != nil {
		d.memories.Change(a.ID, func(m *memory) { m.measured = measurement{} })
		return false, 0, fmt.Errorf("agent %d: context: %w", a.ID, err)
	}
	return a.Rev != before, 0, nil
}

// measureDue reports whether measure must read the transcript now. If so, it notes the transcript as read for this turn. If
// it is too early, wait says how long to wait.
func (d *Room) measureDue(a *daemon.Agent) (due bool, wait time.Duration) {
	d.memories.Change(a.ID, func(all *memory) {
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

// handOverFull requests the handoff of an agent whose context is nearly full, when the agent's turn has ended. If the agent
// was about to compact, handOverFull does not wait for the end of the turn. It requests one handoff for each agent, and no
// second one if that handoff fails.
func (d *Room) handOverFull(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	auto := d.FactsFor(a).AutoFor(a)
	if !auto.Enabled || a.Persona == nil || a.AutoAskedAt != nil || a.RegisteredAt == nil || a.StopAskedAt != nil {
		return false, 0, nil
	}
	if over, err := d.overBudget(ctx, a); err != nil || over {
		return false, time.Minute, err // the handoff would use more; it is requested tomorrow
	}
	if a.CompactHook == 0 {
		use := a.Context
		if a.State != daemon.Idle || use == nil || use.Percent == nil || *use.Percent < float64(auto.Trigger) ||
			a.ContextStart == nil || *use.Percent-*a.ContextStart < engine.AutoGrowth {
			return false, 0, nil
		}
		if young := engine.AutoAfter - d.TimeSpent(*a.RegisteredAt); young > 0 {
			return false, young, nil
		}
	}
	if _, open, err := d.OpenHandoff(ctx, a.ID); open || err != nil {
		return false, 0, err
	}
	in := handoffs.HandoffRequest{Reason: daemon.ReasonContext, Force: true, Auto: true}
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
func (d *Room) tellNotHandedOver(ctx context.Context, a *daemon.Agent, why *daemon.Error) error {
	a.NoteAutoAsked(d.Now())
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	if why.Code != daemon.ErrHandoffOpen.Code {
		e := d.Event(event.AgentHandoffRefused, &a.ID, nil, map[string]any{"code": why.Code, "message": fmt.Sprintf(
			"Agent %d (%s) is about to run out of context and could not be handed over: %s; put that right, then hand it over with `understudy handoff %d`.",
			a.ID, a.Name, words.TrimDot(why.Message), a.ID)})
		e.Alert = true
		c.Events = append(c.Events, e)
	}
	return d.Commit(ctx, &c)
}
