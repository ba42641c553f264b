package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// commit draws a change to commit.
func (d *drawer) commit() action {
	c, what := d.change()
	return action{"commit " + what, func(t testing.TB, st daemon.Store) (any, error) {
		err := st.Commit(t.Context(), c)
		return c, err
	}}
}

// change draws a change of one to three parts, and up to two events.
func (d *drawer) change() (c *daemon.Change, what string) {
	c = &daemon.Change{}
	var parts []string
	for range 1 + d.rand.IntN(3) {
		parts = append(parts, d.part(c))
	}
	for range d.rand.IntN(3) {
		c.Events = append(c.Events, d.event())
		parts = append(parts, "event")
	}
	return c, strings.Join(parts, ", ")
}

func (d *drawer) part(c *daemon.Change) string {
	parts := []func(*daemon.Change) string{d.addAgent}
	if len(d.agents) > 1 {
		parts = append(parts, d.changeAgent, d.addHandoff, d.addDelivery, d.addDelivery, d.drop, d.addPipeline)
	}
	if len(d.agents) > 1 {
		parts = append(parts, d.addPermission, d.changePermission, d.addSamples, d.addBudgetMark, d.addUsageRead)
	}
	if len(d.agents) > 1 {
		parts = append(parts, d.addWorktree)
	}
	if len(d.worktrees) > 0 {
		parts = append(parts, d.changeWorktree)
	}
	if len(d.handoffs) > 0 {
		parts = append(parts, d.move, d.move, d.addRecord)
	}
	if len(d.deliveries) > 0 {
		parts = append(parts, d.changeDelivery, d.changeDelivery)
	}
	if len(d.pipelines) > 0 {
		parts = append(parts, d.changePipeline, d.changePipeline, d.addOutput)
	}
	return one(d, parts...)(c)
}

func (d *drawer) addSamples(c *daemon.Change) string {
	agent, at := d.agentID(), d.at()
	for range 1 + d.rand.IntN(3) {
		c.Samples = append(c.Samples, daemon.ContextSample{AgentID: agent, At: one(d, at, d.at()), Tokens: int64(d.rand.IntN(1e6)), Percent: maybe(d, d.rand.Float64())})
	}
	return fmt.Sprint("samples of agent ", agent)
}

func (d *drawer) addAgent(c *daemon.Change) string {
	c.NewAgent = d.agent(&daemon.Agent{ID: d.newID(daemon.AgentIDs)})
	return "new agent"
}

func (d *drawer) changeAgent(c *daemon.Change) string {
	a := one(d, d.agents...)
	d.stale(&a.Rev)
	c.Agents = append(c.Agents, d.agent(&a))
	return fmt.Sprint("agent ", a.ID)
}

func (d *drawer) addHandoff(c *daemon.Change) string {
	c.NewHandoff = d.handoff(&daemon.Handoff{ID: d.newID(daemon.HandoffIDs)})
	return "new handoff"
}

func (d *drawer) move(c *daemon.Change) string {
	h := one(d, d.handoffs...)
	from := h.Phase
	if !d.mostly() {
		from = one(d, somePhases...)
	}
	d.stale(&h.Seq)
	c.Move = &daemon.Move{Handoff: d.handoff(&h), From: from, Cause: d.word()}
	return fmt.Sprintf("move of handoff %d from %s to %s", h.ID, from, h.Phase)
}

func (d *drawer) addRecord(c *daemon.Change) string {
	c.NewRecord = d.record()
	return "record"
}

func (d *drawer) addDelivery(c *daemon.Change) string {
	c.NewDeliveries = append(c.NewDeliveries, d.delivery(&daemon.Delivery{ID: d.newID(daemon.DeliveryIDs)}))
	return "new delivery"
}

func (d *drawer) changeDelivery(c *daemon.Change) string {
	x := one(d, d.deliveries...)
	d.stale(&x.Rev)
	c.Deliveries = append(c.Deliveries, d.delivery(&x))
	return fmt.Sprint("delivery ", x.ID)
}

func (d *drawer) drop(c *daemon.Change) string {
	c.DropQueued, c.DropEvidence, c.SpareMessages = d.agentID(), one(d, "", daemon.EvidenceRecorded, "unknown"), d.half()
	return "dropped deliveries"
}

func (d *drawer) addPipeline(c *daemon.Change) string {
	c.NewPipeline, c.Admit = d.newPipeline(), d.rand.IntN(4)
	return "new pipeline"
}

func (d *drawer) changePipeline(c *daemon.Change) string {
	p := one(d, d.pipelines...)
	d.stale(&p.Seq)
	c.PipelineMove, c.Admit = &daemon.PipelineMove{Pipeline: d.pipeline(&p)}, d.rand.IntN(4)
	p.Steps = slices.Clone(p.Steps)
	if len(p.Steps) > 0 && d.rand.IntN(3) == 0 {
		d.furtherRound(c.PipelineMove, p.Steps)
		return fmt.Sprintf("pipeline %d to %s, with a further round", p.ID, p.Status)
	}
	for i := range p.Steps {
		if d.half() {
			c.PipelineMove.Steps = append(c.PipelineMove.Steps, d.step(&p.Steps[i]))
		}
	}
	return fmt.Sprintf("pipeline %d to %s", p.ID, p.Status)
}

func (d *drawer) addOutput(c *daemon.Change) string {
	c.NewOutput, c.NewStepRecord = d.output(), maybe(d, *d.stepRecord())
	return "output"
}

// stale now and then makes a guard differ from the one that was read.
func (d *drawer) stale(guard *int64) {
	if !d.mostly() {
		*guard += int64(d.rand.IntN(3) - 1)
	}
}

// hook draws a hook and the decision about it. An earlier hook may have had the same key.
func (d *drawer) hook() action {
	in := daemon.HookInput{
		Key: fmt.Sprint("k", d.rand.IntN(d.n+2)), Event: one(d, "Stop", "SessionStart"), Host: one(d, hosts...),
		SessionID: one(d, "", "s1", "s2"), Body: d.event().Payload, At: one(d, time.Time{}, d.at()), Replayed: d.half(),
	}
	switch d.rand.IntN(3) {
	case 0:
		in.LaunchHash = one(d, []byte("l1"), []byte{}, []byte("unknown"))
	case 1:
		in.PID, in.PIDStart = 1+d.rand.IntN(2), uint64(d.rand.IntN(2))
	}
	follows := daemon.HookDecision{
		Applied: d.half(), Reason: d.word(), Output: one(d, nil, d.event().Payload), Change: daemon.Change{Events: []*event.Event{d.event()}},
	}
	if d.half() {
		follows = daemon.HookDecision{Reason: d.word()}
	}
	fresh := d.agent(&daemon.Agent{})
	fresh.Managed, fresh.PID, fresh.PIDStart, fresh.LaunchHash = false, in.PID, in.PIDStart, nil
	writes, moves, undone := d.half(), d.half(), !d.mostly()
	return action{"hook " + in.Key, func(t testing.TB, st daemon.Store) (any, error) {
		var seen daemon.HookTx
		res, err := st.RecordHook(t.Context(), in, func(tx daemon.HookTx) daemon.HookDecision {
			seen = tx
			out := follows
			switch {
			case undone:
				out.Undone = daemon.ErrNotFound
			case !writes:
			case tx.Agent == nil && !tx.Again && in.LaunchHash == nil:
				fresh.ID = tx.NewAgentID
				out.Change.NewAgent = fresh
			case tx.Agent != nil:
				tx.Agent.LastHook, tx.Agent.TurnPromptID = tx.HookID, in.Key
				out.Change.Agents, out.Change.Deliveries = []*daemon.Agent{tx.Agent}, tx.Deliveries
				if tx.Handoff != nil && moves {
					tx.Handoff.StopHook = tx.HookID
					out.Change.Move = &daemon.Move{Handoff: tx.Handoff, From: tx.Handoff.Phase}
				}
			}
			return out
		})
		if err != nil {
			return seen, err
		}
		stored, err := st.StoredHook(t.Context(), res.HookID)
		return []any{seen, res, stored, follows.Change.Events}, err
	}}
}

// mark draws events to mark as notified.
func (d *drawer) mark() action {
	var ids []int64
	for range d.rand.IntN(3) {
		ids = append(ids, d.eventID())
	}
	for _, e := range d.events {
		if len(ids) < 2 && (e.Alert || e.Notice != "") && d.half() {
			ids = append(ids, e.ID)
		}
	}
	told := maybe(d, *d.event())
	var pushes []tell.Push
	for range d.rand.IntN(3) {
		var p tell.Push
		d.fill(&p)
		p.Host, p.Target, p.Key = one(d, hosts...), one(d, "phone", "team"), one(d, p.Key, fmt.Sprint("key-", d.unique()))
		pushes = append(pushes, p)
	}
	return action{fmt.Sprint("mark ", ids), func(t testing.TB, st daemon.Store) (any, error) {
		err := st.MarkAlerted(t.Context(), ids, told, pushes...)
		return told, err
	}}
}

func (d *drawer) prefer() action {
	host, waiting, completed, told := one(d, hosts...), d.half(), d.half(), maybe(d, *d.event())
	return action{"preferences of " + host, func(t testing.TB, st daemon.Store) (any, error) {
		var was tell.Preferences
		p, err := st.ChangeNotificationPreferences(t.Context(), host, func(p *tell.Preferences) *event.Event {
			was = *p
			was.UpdatedAt = nil // the store sets it afterwards
			p.Waiting, p.Completed = waiting, completed
			return told
		})
		return []any{was, p, told}, err
	}}
}

func (d *drawer) prune() action {
	l := daemon.PruneLimits{
		Before: one(d, time.Time{}, d.at(), d.at(), time.Now().Add(time.Hour)), Rows: int64(d.rand.IntN(6)), Max: d.rand.IntN(4),
	}
	hooks, samples, history := d.rand.IntN(3) == 0, d.rand.IntN(3) == 0, d.rand.IntN(3) == 0
	before := one(d, d.at(), drawnUntil)
	return action{fmt.Sprintf("prune %+v", l), func(t testing.TB, st daemon.Store) (any, error) {
		if history {
			would, err := st.WouldPrune(t.Context(), l, before)
			if err != nil {
				return nil, err
			}
			done, err := st.PruneHistory(t.Context(), before, l.Max)
			return []any{would, done}, err
		}
		if hooks && l.Max == 0 { // with a maximum the stores may choose different hooks of the same moment
			done, err := st.PruneHooks(t.Context(), l)
			return done, err
		}
		if samples {
			done, err := st.PruneSamples(t.Context(), l)
			return done, err
		}
		done, err := st.PruneEvents(t.Context(), l)
		return done, err
	}}
}

// list draws a list with a filter.
func (d *drawer) list() action {
	persona, host, limit := one(d, "", "developer"), one(d, "", "h1"), d.rand.IntN(4)
	switch d.rand.IntN(14) {
	case 0:
		f := daemon.AgentFilter{
			State: one(d, "", daemon.Idle), Persona: persona, Host: host, Active: d.half(), Before: one(d, 0, d.agentID()),
			Limit: limit, Previous: one(d, 0, d.agentID()), Lately: !d.mostly(), EndCause: one(d, "", "tmux"),
		}
		return ask("agents", func(t testing.TB, st daemon.Store) (any, error) { return st.Agents(t.Context(), f) })
	case 1:
		f := daemon.HandoffFilter{
			AgentID: one(d, 0, d.agentID()), SuccessorID: one(d, 0, d.agentID()), Persona: persona, Status: one(d, "", daemon.StatusFailed),
			Host: host, Open: d.half(), Last: d.half(), Before: one(d, 0, d.handoffID()), Limit: limit,
		}
		return ask("handoffs", func(t testing.TB, st daemon.Store) (any, error) { return st.Handoffs(t.Context(), f) })
	case 2:
		f := daemon.PipelineFilter{
			Status: one(d, "", daemon.PipelineRunning), Template: one(d, "", "quick_fix"), Host: host, Open: d.half(), Before: one(d, 0, d.pipelineID()), Limit: limit,
		}
		return ask("pipelines", func(t testing.TB, st daemon.Store) (any, error) { return st.Pipelines(t.Context(), f) })
	case 3:
		f := event.Filter{
			After: one(d, 0, d.eventID()), Types: one(d, nil, []string{"agent_idle", "Other"}), AgentID: one(d, 0, d.agentID()),
			HandoffID: one(d, 0, d.handoffID()), PipelineID: one(d, 0, d.pipelineID()), Limit: limit,
		}
		return ask("events", func(t testing.TB, st daemon.Store) (any, error) { return st.Events(t.Context(), f) })
	case 4, 5:
		f := daemon.AuditFilter{
			Types: one(d, nil, nil, []string{"agent_idle", "Other"}), TypePrefix: one(d, "", "", "agent_", "agent%"), AgentID: one(d, 0, 0, d.agentID()),
			HandoffID: one(d, 0, 0, d.handoffID()), PipelineID: one(d, 0, 0, d.pipelineID()), Host: host, Persona: persona,
			Since: one(d, time.Time{}, d.at()), Until: one(d, time.Time{}, d.at()), Text: one(d, "", "ÜNDER", "1.50", "OTH", `": `, "%", "1_5", "a\x00b"),
			Before: one(d, 0, d.eventID()), Limit: limit,
		}
		return ask("audit", func(t testing.TB, st daemon.Store) (any, error) { return st.Audit(t.Context(), f) })
	case 6:
		agent, before, since := d.agentID(), one(d, 0, d.deliveryID()), d.at()
		return ask("deliveries", func(t testing.TB, st daemon.Store) (any, error) {
			list, err := st.Deliveries(t.Context(), agent, before, limit)
			if err != nil {
				return nil, err
			}
			sent, err := st.Sent(t.Context(), agent, since)
			return []any{list, sent}, err
		})
	case 7:
		// How many bytes a message takes depends on the store. So the limit is one that every message exceeds, or
		// one that none reaches.
		q := daemon.LineQuery{AgentID: d.agentID(), Limit: limit, Messages: d.rand.IntN(5), MessageBytes: one(d, int64(0), 1<<20)}
		return ask("line", func(t testing.TB, st daemon.Store) (any, error) {
			records, err := st.LineRecords(t.Context(), q)
			if err != nil {
				return nil, err
			}
			handoffs, err := st.LineHandoffs(t.Context(), q.AgentID, limit)
			return []any{records, handoffs}, err
		})
	}
	if d.half() {
		return d.timeline()
	}
	return d.rows()
}

func ask(what string, do func(testing.TB, daemon.Store) (any, error)) action {
	return action{"list of " + what, do}
}

// timeline draws a question about the lives of agents.
func (d *drawer) timeline() action {
	span := daemon.SpanQuery{AgentIDs: one(d, nil, []int64{d.agentID()}), Since: one(d, time.Time{}, d.at()), Until: one(d, d.at(), drawnUntil), Each: d.rand.IntN(3)}
	lives := daemon.LifeQuery{IDs: span.AgentIDs, Since: span.Since, Until: span.Until, Limit: d.rand.IntN(4)}
	return ask("lives", func(t testing.TB, st daemon.Store) (any, error) {
		of, err := st.AgentLives(t.Context(), lives)
		if err != nil {
			return nil, err
		}
		states, err := st.StateChanges(t.Context(), span)
		if err != nil {
			return nil, err
		}
		samples, err := st.ContextSamples(t.Context(), span)
		return []any{of, states, samples}, err
	})
}
