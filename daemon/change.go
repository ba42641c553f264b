package daemon

import (
	"slices"
)

// WriteAgent adds an agent's row to the change, unless the change has it already.
func (c *Change) WriteAgent(a *Agent) {
	if !slices.ContainsFunc(c.Agents, func(other *Agent) bool { return other.ID == a.ID }) {
		c.Agents = append(c.Agents, a)
	}
}

// Takes reports whether the change itself takes a delivery out of the queue.
func (c *Change) Takes(dl *Delivery) bool {
	return slices.ContainsFunc(c.Deliveries, func(own *Delivery) bool { return own.ID == dl.ID && own.State != DeliveryQueued })
}

// IDKind names a sequence of ids.
type IDKind string

// The sequences of ids.
const (
	AgentIDs    IDKind = "agents"
	HandoffIDs  IDKind = "handoffs"
	DeliveryIDs IDKind = "deliveries"
	PipelineIDs IDKind = "pipelines"
	StepIDs     IDKind = "steps"
	OutputIDs   IDKind = "step_handoffs"
	WorktreeIDs IDKind = "worktrees"
)
