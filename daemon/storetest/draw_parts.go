package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/data"
)

// hold draws what holds a row and its note. Some notes are those of an older daemon, which has left the hold as it was.
func (d *drawer) hold() (*daemon.Hold, string) {
	h := &daemon.Hold{
		Kind: one(d, daemon.HoldBudget, daemon.HoldBrokeOff, daemon.HoldNoPane, "unknown"), Since: d.at(), Until: maybe(d, d.at()),
		HoldDetail: daemon.HoldDetail{AgentID: int64(d.rand.IntN(2)), Says: d.word()},
	}
	before := one(d, nil, h)
	return before, one(d, h.Words(), before.Words(), d.word(), "the agent is in a turn")
}

// stepRecord draws the large part of an output.
func (d *drawer) stepRecord() *daemon.StepRecord {
	r := &daemon.StepRecord{}
	d.fill(r)
	return r
}

// day draws a day of a budget.
func (d *drawer) day() string { return one(d, "2019-05-06", "2019-05-07") }

func (d *drawer) addBudgetMark(c *daemon.Change) string {
	c.BudgetMarks = append(c.BudgetMarks, &daemon.BudgetMark{Host: one(d, hosts...), Persona: d.word(), Day: d.day(), Mark: one(d, daemon.BudgetReached, daemon.BudgetWaived), Budget: d.word()})
	return "budget mark"
}

func (d *drawer) addUsageRead(c *daemon.Change) string {
	c.UsageReads = append(c.UsageReads, daemon.UsageRead{Host: one(d, hosts...), Path: d.word(), AgentID: d.agentID()})
	return "usage to read"
}

// use draws answers of an agent that are counted.
func (d *drawer) use() action {
	a := one(d, d.agents...)
	in := daemon.UsageAdded{Agent: &a, From: int64(one(d, 0, 0, 10)), Read: daemon.UsageRead{Host: one(d, hosts...), Path: d.word(), ReadTo: 10, Model: d.word()}}
	for i := range d.rand.IntN(3) {
		answer := runtimes.Usage{}
		d.fill(&answer)
		answer.Key = fmt.Sprint("answer ", 2*i+d.rand.IntN(2))
		in.Answers = append(in.Answers, answer)
	}
	return action{fmt.Sprint("usage of agent ", a.ID), func(t testing.TB, st daemon.Store) (any, error) { return nil, st.AddUsage(t.Context(), in) }}
}

// push draws a move of a push, or the end of old ones.
func (d *drawer) push() action {
	if host := one(d, hosts...); len(d.pushes) == 0 || !d.mostly() {
		return action{"prune pushes", func(t testing.TB, st daemon.Store) (any, error) {
			return nil, st.PrunePushes(t.Context(), host, time.Now().Add(time.Hour))
		}}
	}
	was := one(d, d.pushes...)
	p, from, attempts, e := was, was.State, was.Attempts, maybe(d, *d.event())
	d.fill(&p)
	p.ID, p.State = was.ID, one(d, tell.PushPending, tell.PushSending, tell.PushSent, tell.PushFailed)
	if !d.mostly() {
		from, attempts = one(d, from, tell.PushSent), attempts+d.rand.IntN(2)
	}
	return action{fmt.Sprint("push ", p.ID), func(t testing.TB, st daemon.Store) (any, error) {
		moved, err := st.MovePush(t.Context(), &p, from, attempts, e)
		return []any{moved, e}, err
	}}
}

// rows draws a question that is answered by a row, or by a list without many filters.
func (d *drawer) rows() action {
	host, agent, handoff, pipeline, delivery := one(d, hosts...), d.agentID(), d.handoffID(), d.pipelineID(), d.deliveryID()
	limit, some := d.rand.IntN(4), one(d, nil, []int64{d.agentID(), d.agentID(), d.agentID()})
	permissions := daemon.PermissionFilter{AgentID: one(d, 0, agent), Host: one(d, "", host), Open: d.half(), Before: one(d, 0, int64(1e9+d.rand.IntN(d.n*1000+1))), Limit: limit}
	trees := daemon.WorktreeFilter{Host: one(d, "", host), There: d.half(), PipelineID: one(d, 0, pipeline), Before: one(d, 0, worktreeID(d)), Limit: limit}
	usage := daemon.UsageQuery{AgentIDs: some, Host: one(d, "", host), Persona: one(d, "", "developer"), PipelineID: one(d, 0, pipeline), Since: one(d, time.Time{}, d.at())}
	usage.Days = one(d, nil, []time.Time{time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2016, 1, 2, 3, 4, 30, 0, time.UTC)})
	kind := one[daemon.IDKind](d, daemon.AgentIDs, daemon.HandoffIDs, daemon.DeliveryIDs, daemon.PipelineIDs, daemon.StepIDs, daemon.OutputIDs, daemon.WorktreeIDs, "hosts")
	hash, day, path := one(d, nil, []byte{}, []byte("l1"), []byte("unknown")), d.day(), d.word()
	questions := []func(context.Context, daemon.Store) (any, error){
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Agent(ctx, agent) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.AgentByLaunch(ctx, hash) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.AgentsByID(ctx, some) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.ActiveAgents(ctx, host) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Handoff(ctx, handoff) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Record(ctx, handoff) },
		func(ctx context.Context, st daemon.Store) (any, error) {
			return st.CompletedMetrics(ctx, handoff, limit)
		},
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Pipeline(ctx, pipeline) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Delivery(ctx, delivery) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Permissions(ctx, permissions) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Permission(ctx, permissions.Before) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Worktrees(ctx, trees) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.Worktree(ctx, trees.Before) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.PendingAlerts(ctx, host, limit) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.OpenPushes(ctx, host, "phone") },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.UsageSums(ctx, usage) },
		func(ctx context.Context, st daemon.Store) (any, error) {
			return st.UsageReads(ctx, host, agent, []string{path})
		},
		func(ctx context.Context, st daemon.Store) (any, error) { return st.BudgetMarks(ctx, host, day) },
		func(ctx context.Context, st daemon.Store) (any, error) { return st.NextID(ctx, kind) },
	}
	n := d.rand.IntN(len(questions))
	return ask(fmt.Sprint("question ", n), func(t testing.TB, st daemon.Store) (any, error) { return questions[n](t.Context(), st) })
}

// heirs draws the heirs of a handoff, as many as it has already. An only heir has an agent in its own phases alone.
func (d *drawer) heirs(h *daemon.Handoff) {
	h.Heirs = make([]daemon.HandoffHeir, cmp.Or(len(h.Heirs), 1+d.rand.IntN(2)))
	begun := h.HeirsFirst() || slices.Contains([]daemon.Phase{daemon.Briefing, daemon.Completed, daemon.Failed}, h.Phase)
	for i := range h.Heirs {
		heir := &h.Heirs[i]
		was := heir.AgentID
		d.fill(heir)
		heir.AgentID, heir.DeliveryID, heir.ReadAt, heir.UnreadAt = was, nil, nil, nil
		if !h.HeirsFirst() {
			heir.BriefedAt = nil
		}
		heir.Hold, heir.Note = d.hold()
		heir.Phase = one(d, "", daemon.Spawning, daemon.Briefing, daemon.Completed, daemon.Failed)
		heir.Error = one(d, nil, &daemon.Failure{Phase: daemon.Briefing, Code: "c", Message: d.word()})
		if begun && d.half() {
			heir.AgentID = new(d.agentID())
		}
		if !d.mostly() {
			heir.Phase = one(d, daemon.Recorded, heir.Phase)
		}
	}
}

func (d *drawer) record() *daemon.Record {
	r := &daemon.Record{}
	d.fill(r)
	r.HandoffID, r.AgentID = d.handoffID(), d.agentID()
	if d.half() {
		r.Decisions = append(r.Decisions, data.Decision{Summary: d.word(), RelatedArtifacts: one(d, nil, []string{d.word()})})
		r.Messages = append(r.Messages, data.Message{Role: "user", Text: d.word()})
	}
	return r
}

func (d *drawer) output() *daemon.StepHandoff {
	o := &daemon.StepHandoff{}
	d.fill(o)
	o.ID, o.StepID, o.AgentID = d.newID(daemon.OutputIDs), 999, d.agentID()
	if len(d.pipelines) > 0 {
		if p := one(d, d.pipelines...); len(p.Steps) > 0 {
			o.StepID = one(d, p.Steps...).ID
		}
	}
	return o
}
