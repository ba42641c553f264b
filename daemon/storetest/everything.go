package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// hosts are the hosts whose rows everything reads.
var hosts = []string{"h1", "h2"}

// all is a limit that no test reaches.
const all = 10_000

// contents is everything that can be read from a store, except hooks and data directories.
type contents struct {
	Agents, Ended []daemon.Agent
	Handoffs      []daemon.Handoff
	Transitions   []daemon.Transition
	Records       []daemon.Record
	Deliveries    []daemon.Delivery
	Pipelines     []daemon.Pipeline
	StepRecords   []daemon.StepRecord
	Metrics       []daemon.Metrics
	Usage         []daemon.UsageSum
	Permissions   []daemon.Permission
	Worktrees     []daemon.Worktree
	Events        []event.Event
	Backwards     []event.Event
	LastEvent     int64
	Floor         daemon.LogFloor
	ByAgent       []agentContents
	ByHost        []hostContents
}

// agentContents is what a store returns for one agent.
type agentContents struct {
	ID           int64
	Open         []daemon.Delivery
	Sent         daemon.Sent
	LineHandoffs []int64
	LineRecords  []daemon.Record
	Samples      []daemon.ContextSample
	States       []daemon.StateChange
	Reads        []daemon.UsageRead
}

// hostContents is what a store returns for one host.
type hostContents struct {
	Host        string
	Open        daemon.Open
	Places      []daemon.PipelinePlace
	Pending     []event.Event
	Census      daemon.Census
	Preferences tell.Preferences
	Pushes      []tell.Push
	PushReports []tell.PushReport
	Active      []daemon.AgentRev
	Marks       []daemon.BudgetMark
}

// everything reads the contents of a store.
func everything(t testing.TB, st daemon.Store) (e contents) {
	t.Helper()
	ctx := t.Context()
	e.Agents = result(st.Agents(ctx, daemon.AgentFilter{Limit: all}))(t)
	e.Ended = result(st.Agents(ctx, daemon.AgentFilter{Limit: all, Lately: true}))(t)
	e.Handoffs = result(st.Handoffs(ctx, daemon.HandoffFilter{Limit: all}))(t)
	for _, h := range e.Handoffs {
		e.Transitions = append(e.Transitions, result(st.Transitions(ctx, h.ID))(t)...)
		if r, err := st.Record(ctx, h.ID); !errors.Is(err, daemon.ErrNotFound) {
			e.Records = append(e.Records, must(t, r, err))
		}
	}
	for _, a := range e.Agents {
		e.Deliveries = append(e.Deliveries, result(st.Deliveries(ctx, a.ID, 0, all))(t)...)
		e.ByAgent = append(e.ByAgent, readAgent(t, st, a.ID))
	}
	e.Metrics = result(st.CompletedMetrics(ctx, 0, all))(t)
	e.Usage = result(st.UsageSums(ctx, daemon.UsageQuery{}))(t)
	e.Pipelines = result(st.Pipelines(ctx, daemon.PipelineFilter{Limit: all}))(t)
	for _, p := range e.Pipelines {
		for _, s := range p.Steps {
			if s.LatestHandoff == nil {
				continue
			}
			if r, err := st.StepRecord(ctx, s.LatestHandoff.ID); !errors.Is(err, daemon.ErrNotFound) {
				e.StepRecords = append(e.StepRecords, must(t, r, err))
			}
		}
	}
	e.Permissions = result(st.Permissions(ctx, daemon.PermissionFilter{Limit: all}))(t)
	e.Worktrees = result(st.Worktrees(ctx, daemon.WorktreeFilter{Limit: all}))(t)
	e.Events = result(st.Events(ctx, event.Filter{Limit: all}))(t)
	e.Backwards = result(st.Audit(ctx, daemon.AuditFilter{Limit: all}))(t)
	e.LastEvent = result(st.LastEventID(ctx))(t)
	e.Floor = result(st.LogFloor(ctx))(t)
	for _, host := range hosts {
		e.ByHost = append(e.ByHost, readHost(t, st, host))
	}
	return e
}

func readAgent(t testing.TB, st daemon.Store, id int64) agentContents {
	t.Helper()
	ctx := t.Context()
	of := agentContents{ID: id}
	of.Open = result(st.OpenDeliveries(ctx, id))(t)
	of.Sent = result(st.Sent(ctx, id, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)))(t)
	for _, h := range result(st.LineHandoffs(ctx, id, all))(t) {
		of.LineHandoffs = append(of.LineHandoffs, h.ID)
	}
	of.LineRecords = result(st.LineRecords(ctx, daemon.LineQuery{AgentID: id, Messages: 3, MessageBytes: 1 << 20}))(t)
	whole := daemon.SpanQuery{AgentIDs: []int64{id}, Until: time.Now().AddDate(1, 0, 0), Each: all}
	of.Samples = result(st.ContextSamples(ctx, whole))(t)
	of.States = result(st.StateChanges(ctx, whole))(t)
	of.Reads = result(st.UsageReads(ctx, hosts[0], id, nil))(t)
	return of
}

func readHost(t testing.TB, st daemon.Store, host string) hostContents {
	t.Helper()
	ctx := t.Context()
	of := hostContents{Host: host}
	of.Open = result(st.Open(ctx, host))(t)
	of.Places = result(st.PipelinePlaces(ctx, host))(t)
	of.Pending = result(st.PendingAlerts(ctx, host, all))(t)
	of.Census = result(st.Census(ctx, host))(t)
	of.Pushes = result(st.OpenPushes(ctx, host, ""))(t)
	of.PushReports = result(st.PushReports(ctx, host))(t)
	of.Active = result(st.ActiveAgents(ctx, host))(t)
	of.Marks = result(st.BudgetMarks(ctx, host, "2000-01-01"))(t)
	of.Preferences = result(st.NotificationPreferences(ctx, host))(t)
	return of
}

// result returns the result of a call that must not fail: result(st.Agent(ctx, id))(t).
func result[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		return must(t, v, err)
	}
}

// typesOf returns the types of events, in order.
func typesOf(events []event.Event) []string {
	types := []string{}
	for _, e := range events {
		types = append(types, string(e.Type))
	}
	return types
}

// events reads the whole event log.
func events(t testing.TB, st daemon.Store) []event.Event {
	t.Helper()
	return result(st.Events(t.Context(), event.Filter{Limit: all}))(t)
}
