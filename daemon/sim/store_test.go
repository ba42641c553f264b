package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// gated is the store as a daemon sees it: each call waits until the schedule lets it go.
type gated struct {
	g     *daemonRun
	inner daemon.Store
}

var _ daemon.Store = (*gated)(nil)

// query carries out a call that only reads.
func query[T any](s *gated, ctx context.Context, what string, do func() (T, error)) (T, error) {
	return carry(s.g, ctx, reading, what, do)
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

// write carries out a transaction and then checks all rows.
func write[T any](s *gated, ctx context.Context, what string, do func() (T, error)) (T, error) {
	return carry(s.g, ctx, writing, what, func() (T, error) {
		s.g.w.store.Clock = s.g.h.now
		out, err := do()
		if err == nil {
			s.g.w.afterCommit(s.g)
		}
		return out, err
	})
}

func (s *gated) Commit(ctx context.Context, c *daemon.Change) error {
	what := describe(c)
	_, err := write(s, ctx, "Commit "+what, func() (struct{}, error) {
		// The caller's context may have ended, but PostgreSQL may have received the COMMIT before.
		was := s.g.w.before(c)
		err := s.inner.Commit(context.WithoutCancel(ctx), c)
		if err == nil {
			s.g.w.checkVerdicts(c)
			s.g.w.checkGated(c)
			s.g.w.checkDialogs(c)
			s.g.w.checkAsked(c)
			s.g.w.noteQueued(c)
			s.g.w.noteBehind(c)
			s.g.w.noteFollowed(c)
			s.g.seen.noteCommit(daemon.Caller(ctx))
			s.g.w.trace.note(s.g.name+" "+daemon.Caller(ctx), "● %s", what)
			if c.NewOutput != nil {
				s.g.w.checkOutput(c.NewOutput)
			}
			for _, d := range c.Deliveries {
				s.g.w.noteTyped(d)
				s.g.w.checkUnconfirmed(d)
				s.g.w.checkIntention(s.g, daemon.Caller(ctx), d, was[d.ID])
				s.g.w.checkEarly(d)
				s.g.w.checkAgain(d, was[d.ID])
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
			for _, d := range out.Change.Deliveries {
				s.g.w.noteTyped(d)
			}
			s.g.w.checkVerdicts(&out.Change)
			s.g.w.checkGated(&out.Change)
			s.g.w.checkDialogs(&out.Change)
			s.g.w.noteQueued(&out.Change)
			s.g.w.checkHook(in, tx, was, &out)
			why := ""
			if !res.Applied {
				why = ", not applied: " + res.Reason
			}
			s.g.w.trace.note(s.g.name+" "+daemon.Caller(ctx), "● hook %d %s of agent %d%s", res.HookID, in.Event, res.AgentID, why)
		}
		return res, err
	})
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

func (s *gated) WouldPrune(ctx context.Context, l daemon.PruneLimits, history time.Time) (daemon.PruneReport, error) {
	return query(s, ctx, "WouldPrune", func() (daemon.PruneReport, error) { return s.inner.WouldPrune(ctx, l, history) })
}

func (s *gated) NextID(ctx context.Context, kind daemon.IDKind) (int64, error) {
	return query(s, ctx, "NextID "+string(kind), func() (int64, error) { return s.inner.NextID(ctx, kind) })
}

func (s *gated) Agent(ctx context.Context, id int64) (daemon.Agent, error) {
	return query(s, ctx, fmt.Sprint("Agent ", id), func() (daemon.Agent, error) {
		a, err := s.inner.Agent(ctx, id)
		s.g.seen.agents[fmt.Sprint(daemon.Caller(ctx), " ", id)] = a
		return a, err
	})
}

func (s *gated) AgentByLaunch(ctx context.Context, hash []byte) (daemon.Agent, error) {
	return query(s, ctx, "AgentByLaunch", func() (daemon.Agent, error) { return s.inner.AgentByLaunch(ctx, hash) })
}

func (s *gated) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	return query(s, ctx, "Agents", func() ([]daemon.Agent, error) { return s.inner.Agents(ctx, f) })
}

func (s *gated) ActiveAgents(ctx context.Context, host string) ([]daemon.AgentRev, error) {
	return query(s, ctx, "ActiveAgents", func() ([]daemon.AgentRev, error) { return s.inner.ActiveAgents(ctx, host) })
}

func (s *gated) AgentsByID(ctx context.Context, ids []int64) ([]daemon.Agent, error) {
	return query(s, ctx, "AgentsByID", func() ([]daemon.Agent, error) { return s.inner.AgentsByID(ctx, ids) })
}

func (s *gated) Handoff(ctx context.Context, id int64) (daemon.Handoff, error) {
	return query(s, ctx, fmt.Sprint("Handoff ", id), func() (daemon.Handoff, error) { return s.inner.Handoff(ctx, id) })
}

func (s *gated) Handoffs(ctx context.Context, f daemon.HandoffFilter) ([]daemon.Handoff, error) {
	return query(s, ctx, "Handoffs", func() ([]daemon.Handoff, error) { return s.inner.Handoffs(ctx, f) })
}

func (s *gated) Transitions(ctx context.Context, id int64) ([]daemon.Transition, error) {
	return query(s, ctx, "Transitions", func() ([]daemon.Transition, error) { return s.inner.Transitions(ctx, id) })
}

func (s *gated) Record(ctx context.Context, id int64) (daemon.Record, error) {
	return query(s, ctx, "Record", func() (daemon.Record, error) { return s.inner.Record(ctx, id) })
}

func (s *gated) LineRecords(ctx context.Context, q daemon.LineQuery) ([]daemon.Record, error) {
	return query(s, ctx, "LineRecords", func() ([]daemon.Record, error) { return s.inner.LineRecords(ctx, q) })
}

func (s *gated) LineHandoffs(ctx context.Context, id int64, limit int) ([]daemon.Handoff, error) {
	return query(s, ctx, "LineHandoffs", func() ([]daemon.Handoff, error) { return s.inner.LineHandoffs(ctx, id, limit) })
}

func (s *gated) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	return query(s, ctx, "Pipeline", func() (daemon.Pipeline, error) { return s.inner.Pipeline(ctx, id) })
}

func (s *gated) Pipelines(ctx context.Context, f daemon.PipelineFilter) ([]daemon.Pipeline, error) {
	return query(s, ctx, "Pipelines", func() ([]daemon.Pipeline, error) { return s.inner.Pipelines(ctx, f) })
}

func (s *gated) PipelinePlaces(ctx context.Context, host string) ([]daemon.PipelinePlace, error) {
	return query(s, ctx, "PipelinePlaces", func() ([]daemon.PipelinePlace, error) { return s.inner.PipelinePlaces(ctx, host) })
}

func (s *gated) StepRecord(ctx context.Context, id int64) (daemon.StepRecord, error) {
	return query(s, ctx, "StepRecord", func() (daemon.StepRecord, error) { return s.inner.StepRecord(ctx, id) })
}

func (s *gated) StoredHook(ctx context.Context, id int64) (daemon.StoredHook, error) {
	return query(s, ctx, "StoredHook", func() (daemon.StoredHook, error) { return s.inner.StoredHook(ctx, id) })
}

func (s *gated) Delivery(ctx context.Context, id int64) (daemon.Delivery, error) {
	return query(s, ctx, fmt.Sprint("Delivery ", id), func() (daemon.Delivery, error) { return s.inner.Delivery(ctx, id) })
}

func (s *gated) Deliveries(ctx context.Context, agentID, before int64, limit int) ([]daemon.Delivery, error) {
	return query(s, ctx, "Deliveries", func() ([]daemon.Delivery, error) { return s.inner.Deliveries(ctx, agentID, before, limit) })
}

func (s *gated) OpenDeliveries(ctx context.Context, agentID int64) ([]daemon.Delivery, error) {
	return query(s, ctx, "OpenDeliveries", func() ([]daemon.Delivery, error) { return s.inner.OpenDeliveries(ctx, agentID) })
}

func (s *gated) Sent(ctx context.Context, agentID int64, since time.Time) (daemon.Sent, error) {
	return query(s, ctx, "Sent", func() (daemon.Sent, error) { return s.inner.Sent(ctx, agentID, since) })
}

func (s *gated) Worktree(ctx context.Context, id int64) (daemon.Worktree, error) {
	return query(s, ctx, "Worktree", func() (daemon.Worktree, error) { return s.inner.Worktree(ctx, id) })
}

func (s *gated) Worktrees(ctx context.Context, f daemon.WorktreeFilter) ([]daemon.Worktree, error) {
	return query(s, ctx, "Worktrees", func() ([]daemon.Worktree, error) { return s.inner.Worktrees(ctx, f) })
}

func (s *gated) Permission(ctx context.Context, id int64) (daemon.Permission, error) {
	return query(s, ctx, "Permission", func() (daemon.Permission, error) { return s.inner.Permission(ctx, id) })
}

func (s *gated) Permissions(ctx context.Context, f daemon.PermissionFilter) ([]daemon.Permission, error) {
	return query(s, ctx, "Permissions", func() ([]daemon.Permission, error) { return s.inner.Permissions(ctx, f) })
}

func (s *gated) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	return query(s, ctx, "Events", func() ([]event.Event, error) { return s.inner.Events(ctx, f) })
}

func (s *gated) LastEventID(ctx context.Context) (int64, error) {
	return query(s, ctx, "LastEventID", func() (int64, error) { return s.inner.LastEventID(ctx) })
}

func (s *gated) PendingAlerts(ctx context.Context, host string, limit int) ([]event.Event, error) {
	return query(s, ctx, "PendingAlerts", func() ([]event.Event, error) { return s.inner.PendingAlerts(ctx, host, limit) })
}

func (s *gated) Audit(ctx context.Context, f daemon.AuditFilter) ([]event.Event, error) {
	return query(s, ctx, "Audit", func() ([]event.Event, error) { return s.inner.Audit(ctx, f) })
}

func (s *gated) LogFloor(ctx context.Context) (daemon.LogFloor, error) {
	return query(s, ctx, "LogFloor", func() (daemon.LogFloor, error) { return s.inner.LogFloor(ctx) })
}

func (s *gated) NotificationPreferences(ctx context.Context, host string) (tell.Preferences, error) {
	return query(s, ctx, "NotificationPreferences", func() (tell.Preferences, error) {
		return s.inner.NotificationPreferences(ctx, host)
	})
}

func (s *gated) OpenPushes(ctx context.Context, host, target string) ([]tell.Push, error) {
	return query(s, ctx, "OpenPushes", func() ([]tell.Push, error) { return s.inner.OpenPushes(ctx, host, target) })
}

func (s *gated) MovePush(ctx context.Context, p *tell.Push, from tell.PushState, attempts int, e *event.Event) (bool, error) {
	return write(s, ctx, fmt.Sprintf("MovePush %d to %s", p.ID, p.State), func() (bool, error) {
		return s.inner.MovePush(context.WithoutCancel(ctx), p, from, attempts, e)
	})
}

func (s *gated) PushReports(ctx context.Context, host string) ([]tell.PushReport, error) {
	return query(s, ctx, "PushReports", func() ([]tell.PushReport, error) { return s.inner.PushReports(ctx, host) })
}

func (s *gated) PrunePushes(ctx context.Context, host string, before time.Time) error {
	_, err := write(s, ctx, "PrunePushes", func() (struct{}, error) { return struct{}{}, s.inner.PrunePushes(ctx, host, before) })
	return err
}

func (s *gated) Open(ctx context.Context, host string) (daemon.Open, error) {
	return query(s, ctx, "Open", func() (daemon.Open, error) { return s.inner.Open(ctx, host) })
}

func (s *gated) Census(ctx context.Context, host string) (daemon.Census, error) {
	return query(s, ctx, "Census", func() (daemon.Census, error) { return s.inner.Census(ctx, host) })
}

func (s *gated) TryWrite(ctx context.Context, host string) error {
	_, err := query(s, ctx, "TryWrite", func() (struct{}, error) { return struct{}{}, s.inner.TryWrite(ctx, host) })
	return err
}

func (s *gated) HostRoot(ctx context.Context, host string) (string, error) {
	return query(s, ctx, "HostRoot", func() (string, error) { return s.inner.HostRoot(ctx, host) })
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
