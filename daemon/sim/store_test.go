package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sim/memory"
	"github.com/understudyd/understudy/daemon/tell"
)

// gated is the store as a daemon sees it: each call waits until the schedule lets it go. The embedded view carries out the
// calls that only read. The methods below are those that write, which wait on their own and use inner.
type gated struct {
	*memory.Store
	g     *daemonRun
	inner *memory.Store
}

func newGated(g *daemonRun, inner *memory.Store) *gated {
	return &gated{g: g, inner: inner, Store: inner.Gated(func(ctx context.Context, what string) error {
		return does(g, ctx, reading, what, func() error { return nil })
	})}
}

// carry waits until the schedule lets the call go, and carries it out with the fault that the schedule drew.
func carry[T any](g *daemonRun, ctx context.Context, k kind, what string, do func() (T, error)) (out T, err error) {
	c := &call{own: &g.owner, who: daemon.Caller(ctx), what: what, kind: k, ctx: ctx}
	began := time.Now()
	o := g.w.park(c)
	g.checkLook(c, began)
	switch {
	case o.fault == crashBefore:
		g.crash()
	case o.fault == failed, o.fault == moved, o.cut != nil && (o.fault != lostAnswer || k != writing):
		return out, o.err(c)
	}
	out, err = do()
	if o.fault == crashAfter {
		g.crash()
	}
	if fault := o.err(c); fault != nil {
		var none T
		return none, fault
	}
	return out, err
}

// does carries out a call that has no result.
func does(g *daemonRun, ctx context.Context, k kind, what string, do func() error) error {
	_, err := carry(g, ctx, k, what, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// write carries out a transaction and then checks all rows.
func write[T any](s *gated, ctx context.Context, what string, do func() (T, error)) (T, error) {
	return carry(s.g, ctx, writing, what, func() (T, error) {
		s.g.w.store.Clock = s.g.h.now
		out, err := do()
		if err == nil {
			afterCommit(s.g.w, s.g)
		}
		return out, err
	})
}

func (s *gated) Commit(ctx context.Context, c *daemon.Change) error {
	what := describe(c)
	_, err := write(s, ctx, "Commit "+what, func() (struct{}, error) {
		// The caller's context may have ended, but PostgreSQL may have received the COMMIT before.
		was := before(s.g.w, c)
		err := s.inner.Commit(context.WithoutCancel(ctx), c)
		if err == nil {
			afterChange(s.g.w, c)
			s.g.w.checkAsked(c)
			s.g.w.noteBehind(c)
			s.g.w.noteFollowed(c)
			s.g.seen.noteCommit(daemon.Caller(ctx))
			s.g.w.trace.note(s.g.name+" "+daemon.Caller(ctx), "● %s", what)
			if c.NewOutput != nil {
				checkOutput(s.g.w, c.NewOutput)
			}
			for _, d := range c.Deliveries {
				s.g.w.checkUnconfirmed(d)
				checkIntention(s.g.w, s.g, daemon.Caller(ctx), d, was[d.ID])
				checkEarly(s.g.w, d)
				checkAgain(s.g.w, d, was[d.ID])
			}
			if s.g.w.after != nil {
				s.g.w.after(what)
			}
		}
		return struct{}{}, err
	})
	return err
}

func (s *gated) RecordHook(ctx context.Context, in daemon.HookInput, decide func(daemon.HookTx) daemon.HookDecision) (daemon.HookResult, error) {
	return write(s, ctx, "RecordHook "+in.Event, func() (daemon.HookResult, error) {
		var tx daemon.HookTx
		var was []daemon.Delivery
		var out daemon.HookDecision
		res, err := s.inner.RecordHook(context.WithoutCancel(ctx), in, func(t daemon.HookTx) daemon.HookDecision {
			tx, was = t, nil
			for _, d := range t.Deliveries {
				was = append(was, *d)
			}
			out = decide(t)
			return out
		})
		if err == nil {
			afterChange(s.g.w, &out.Change)
			checkHook(s.g.w, in, tx, was, &out)
			why := ""
			if !res.Applied {
				why = ", not applied: " + res.Reason
			}
			s.g.w.trace.note(s.g.name+" "+daemon.Caller(ctx), "● hook %d %s of agent %d%s", res.HookID, in.Event, res.AgentID, why)
		}
		return res, err
	})
}

// afterChange checks a change that has been committed, and notes what later checks need of it.
func afterChange(w *world, c *daemon.Change) {
	for _, d := range c.Deliveries {
		w.noteTyped(d)
	}
	checkVerdicts(w, c)
	checkGated(w, c)
	checkDialogs(w, c)
	w.noteQueued(c)
}

func (s *gated) MarkAlerted(ctx context.Context, ids []int64, told *event.Event, pushes ...tell.Push) error {
	_, err := write(s, ctx, fmt.Sprintf("MarkAlerted %v", ids), func() (struct{}, error) {
		return struct{}{}, s.inner.MarkAlerted(context.WithoutCancel(ctx), ids, told, pushes...)
	})
	return err
}

func (s *gated) ChangeNotificationPreferences(ctx context.Context, host string, change func(*tell.Preferences) *event.Event) (tell.Preferences, error) {
	return write(s, ctx, "ChangeNotificationPreferences", func() (tell.Preferences, error) {
		return s.inner.ChangeNotificationPreferences(ctx, host, change)
	})
}

func (s *gated) PruneEvents(ctx context.Context, l daemon.PruneLimits) (daemon.Pruned, error) {
	return write(s, ctx, "PruneEvents", func() (daemon.Pruned, error) { return s.inner.PruneEvents(ctx, l) })
}

func (s *gated) PruneHooks(ctx context.Context, l daemon.PruneLimits) (daemon.Pruned, error) {
	return write(s, ctx, "PruneHooks", func() (daemon.Pruned, error) { return s.inner.PruneHooks(ctx, l) })
}

func (s *gated) PruneHistory(ctx context.Context, before time.Time, most int) (daemon.PrunedHistory, error) {
	return write(s, ctx, "PruneHistory", func() (daemon.PrunedHistory, error) { return s.inner.PruneHistory(ctx, before, most) })
}

func (s *gated) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	a, err := s.Store.Agent(ctx, id)
	if err == nil {
		s.g.seen.agents[fmt.Sprint(daemon.Caller(ctx), " ", id)] = a
	}
	return a, err
}

func (s *gated) MovePush(ctx context.Context, p *tell.Push, from tell.PushState, attempts int, e *event.Event) (bool, error) {
	return write(s, ctx, fmt.Sprintf("MovePush %d to %s", p.ID, p.State), func() (bool, error) {
		return s.inner.MovePush(context.WithoutCancel(ctx), p, from, attempts, e)
	})
}

func (s *gated) PrunePushes(ctx context.Context, host string, before time.Time) error {
	_, err := write(s, ctx, "PrunePushes", func() (struct{}, error) { return struct{}{}, s.inner.PrunePushes(ctx, host, before) })
	return err
}

func (s *gated) PruneSamples(ctx context.Context, l daemon.PruneLimits) (daemon.Pruned, error) {
	return write(s, ctx, "PruneSamples", func() (daemon.Pruned, error) { return s.inner.PruneSamples(ctx, l) })
}

func (s *gated) AddUsage(ctx context.Context, in daemon.UsageAdded) error {
	_, err := write(s, ctx, fmt.Sprintf("AddUsage of agent %d", in.Agent.ID), func() (struct{}, error) {
		return struct{}{}, s.inner.AddUsage(context.WithoutCancel(ctx), in)
	})
	return err
}

// describe describes a change in one line.
func describe(c *daemon.Change) string {
	text := ""
	add := func(format string, args ...any) {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf(format, args...)
	}
	if c.NewHandoff != nil {
		add("new handoff %d of agent %d", c.NewHandoff.ID, c.NewHandoff.AgentID)
	}
	if m := c.Move; m != nil {
		to := ""
		if m.Handoff.Phase != m.From {
			to = fmt.Sprintf(" → %s (%s)", m.Handoff.Phase, m.Cause)
		}
		add("handoff %d %s%s %s", m.Handoff.ID, m.From, to, m.Handoff.Note)
	}
	if a := c.NewAgent; a != nil {
		add("new agent %d", a.ID)
	}
	for _, a := range c.Agents {
		asked := ""
		if a.StopAskedAt != nil {
			asked = fmt.Sprintf(" asked to stop, rung %q", a.StopStage)
		}
		add("agent %d %s%s %s", a.ID, a.State, asked, a.Note)
	}
	for _, list := range [][]*daemon.Delivery{c.NewDeliveries, c.Deliveries} {
		for _, d := range list {
			add("delivery %d (%s for agent %d) %s %s", d.ID, d.Kind, d.AgentID, d.State, d.Evidence)
		}
	}
	if c.NewPipeline != nil {
		add("new pipeline %d", c.NewPipeline.ID)
	}
	if c.PipelineMove != nil {
		add("pipeline %d %s", c.PipelineMove.Pipeline.ID, c.PipelineMove.Pipeline.Status)
	}
	for _, e := range c.Events {
		add("«%s»", e.Type)
	}
	return text
}
