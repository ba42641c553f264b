package daemon

import "context"

// maxLine is how many handoffs of a line are listed; the older ones are left out.
const maxLine = 500

// Line returns the handoffs of the line that a handoff's agent belongs to, the newest first: those
// of all before it and of all after it.
func (d *Daemon) Line(ctx context.Context, handoffID int64) ([]Handoff, error) {
	h, err := d.Handoff(ctx, handoffID)
	if err != nil {
		return nil, err
	}
	return d.Store.LineHandoffs(ctx, h.AgentID, maxLine)
}

// AgentLine returns the handoffs of the line that an agent belongs to, the newest first, at most limit.
func (d *Daemon) AgentLine(ctx context.Context, agentID int64, limit int) ([]Handoff, error) {
	return d.Store.LineHandoffs(ctx, agentID, limit)
}
