package engine

import (
	"context"
	"maps"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// Census returns the counts of this host.
func (d *Engine) Census(ctx context.Context) (daemon.Census, error) {
	return d.Store.Census(ctx, d.Host)
}

// SpoolDepth returns how many hooks wait in the spool.
func (d *Engine) SpoolDepth() (int, error) { return d.Spool.Len() }

// LogStart returns the id of the event that was the newest when Prepare was called. Events with a greater id were logged
// after that.
func (d *Engine) LogStart() int64 { return d.NewestAtStart }

// HookOutcome says how the daemon treated a hook that it received.
type HookOutcome string

// The outcomes of hooks.
const (
	HookApplied  HookOutcome = "applied"  // stored, and applied to its agent
	HookStored   HookOutcome = "stored"   // stored, and applied to no agent
	HookRepeated HookOutcome = "repeated" // a hook with its key was stored before
	HookRefused  HookOutcome = "refused"  // not stored: its body could not be parsed
)

// HookCount is the key by which hooks are counted.
type HookCount struct {
	Event   string // its canonical name; "": the daemon does not know the event
	Outcome HookOutcome
}

// DeliveryCount is the key by which deliveries are counted.
type DeliveryCount struct {
	Kind    daemon.DeliveryKind
	Verdict daemon.Verdict
}

// counts holds how many hooks were received and how many deliveries got their verdict since the process started.
type counts struct {
	mu         sync.Mutex
	hooks      map[HookCount]int64
	deliveries map[DeliveryCount]int64
}

// HookCounts returns how many hooks were received since the process started.
func (d *Engine) HookCounts() map[HookCount]int64 {
	d.Counts.mu.Lock()
	defer d.Counts.mu.Unlock()
	return maps.Clone(d.Counts.hooks)
}

// DeliveryCounts returns how many deliveries got their verdict since the process started.
func (d *Engine) DeliveryCounts() map[DeliveryCount]int64 {
	d.Counts.mu.Lock()
	defer d.Counts.mu.Unlock()
	return maps.Clone(d.Counts.deliveries)
}

func (c *counts) Hook(event string, outcome HookOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hooks == nil {
		c.hooks = map[HookCount]int64{}
	}
	if !hooks.Known(event) {
		event = "" // a sender can invent names, and must not fill the map with them
	}
	c.hooks[HookCount{event, outcome}]++
}

// Recorded counts a hook that was stored, and the deliveries that got their verdict from it.
func (c *counts) Recorded(event string, res daemon.HookResult, change *daemon.Change) {
	switch {
	case res.Again:
		c.Hook(event, HookRepeated)
	case res.Applied:
		c.Hook(event, HookApplied)
	default:
		c.Hook(event, HookStored)
	}
	c.committed(change)
}

// committed counts the deliveries that got their verdict in a committed change. A verdict is final, so each delivery is
// counted once.
func (c *counts) committed(change *daemon.Change) {
	var decided []DeliveryCount
	for _, dl := range change.Deliveries {
		if dl.Verdict != nil {
			decided = append(decided, DeliveryCount{dl.Kind, *dl.Verdict})
		}
	}
	for _, dl := range change.Dropped {
		decided = append(decided, DeliveryCount{dl.Kind, daemon.NotSubmitted})
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
