package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/understudyd/understudy/hooks"
)

// Census is what a host has at work.
type Census struct {
	Agents       map[AgentState]int     // that have not ended
	Trouble      map[string]int         // of those, by the code of the trouble that they are in
	WaitingSince *time.Time             // since when that agent waits for a person that has waited longest; nil: none waits
	Handoffs     map[Phase]int          // that are open
	Pipelines    map[PipelineStatus]int // that have not ended
}

// CensusReader counts rows.
type CensusReader interface {
	// Census counts what a host has at work. States that nothing is in are left out.
	Census(ctx context.Context, host string) (Census, error)
}

// Census counts what this host has at work.
func (d *Daemon) Census(ctx context.Context) (Census, error) { return d.Store.Census(ctx, d.Host) }

// SpoolDepth returns how many hooks wait in the spool.
func (d *Daemon) SpoolDepth() (int, error) { return d.spool.Len() }

// LogStart returns the id of the newest event when this daemon was prepared: what came after it is
// of this daemon's time.
func (d *Daemon) LogStart() int64 { return d.logStart }

// OpenPhases returns the phases that a handoff can be in before its end, in order.
func OpenPhases() []Phase {
	var phases []Phase
	for _, s := range handoffSteps {
		phases = append(phases, s.at)
	}
	return phases
}

// HookOutcome is what became of a hook that was received.
type HookOutcome string

// The outcomes of hooks.
const (
	HookApplied  HookOutcome = "applied"
	HookStored   HookOutcome = "stored"   // and nothing followed from it
	HookRepeated HookOutcome = "repeated" // it was stored already
	HookRefused  HookOutcome = "refused"  // its body was not understood
)

// HookCount says what is counted of hooks.
type HookCount struct {
	Event   string // canonical; "": one that we don't know
	Outcome HookOutcome
}

// DeliveryCount says what is counted of deliveries.
type DeliveryCount struct {
	Kind    DeliveryKind
	Verdict Verdict
}

// counts are what this process has seen since it started.
type counts struct {
	mu         sync.Mutex
	hooks      map[HookCount]int64
	deliveries map[DeliveryCount]int64
}

// HookCounts returns how many hooks were received since the daemon started.
func (d *Daemon) HookCounts() map[HookCount]int64 {
	d.counts.mu.Lock()
	defer d.counts.mu.Unlock()
	return maps.Clone(d.counts.hooks)
}

// DeliveryCounts returns how many deliveries were decided since the daemon started.
func (d *Daemon) DeliveryCounts() map[DeliveryCount]int64 {
	d.counts.mu.Lock()
	defer d.counts.mu.Unlock()
	return maps.Clone(d.counts.deliveries)
}

func (c *counts) hook(event string, outcome HookOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hooks == nil {
		c.hooks = map[HookCount]int64{}
	}
	if !hooks.Known(event) {
		event = "" // names come from outside, and any may come
	}
	c.hooks[HookCount{event, outcome}]++
}

// recorded counts a hook that was stored, and the deliveries that it decided.
func (c *counts) recorded(event string, res HookResult, change *Change) {
	switch {
	case res.Again:
		c.hook(event, HookRepeated)
	case res.Applied:
		c.hook(event, HookApplied)
	default:
		c.hook(event, HookStored)
	}
	c.committed(change)
}

// committed counts the deliveries that a committed change has decided. A verdict is final, so each
// is committed once.
func (c *counts) committed(change *Change) {
	var decided []DeliveryCount
	for _, dl := range change.Deliveries {
		if dl.Verdict != nil {
			decided = append(decided, DeliveryCount{dl.Kind, *dl.Verdict})
		}
	}
	for _, dl := range change.dropped {
		own := func(other *Delivery) bool { return other.ID == dl.ID }
		if !slices.ContainsFunc(change.Deliveries, own) {
			decided = append(decided, DeliveryCount{dl.Kind, NotSubmitted})
		}
	}
	if len(decided) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deliveries == nil {
		c.deliveries = map[DeliveryCount]int64{}
	}
	for _, key := range decided {
		c.deliveries[key]++
	}
}
