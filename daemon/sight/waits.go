package sight

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// NameDialog names what a waiting agent asks for, if its registry entry alone has told that it waits.
func NameDialog(d *Sight, ctx context.Context, a *daemon.Agent) {
	if a.State != daemon.Waiting || a.WaitsFor != "" {
		return
	}
	list, err := d.Store.Permissions(ctx, daemon.PermissionFilter{AgentID: a.ID, Limit: RecentPermissions})
	if err != nil {
		return // it waits for something that has no name
	}
	if p := FirstAsked(list, 0, a.StateAt); p != nil {
		a.Ask(AskedFor(p))
	}
}

// Reminded is how long after the answer to a permission a Notification about a dialog is about that dialog: the runtime sends one
// only when a dialog has been open for 6 s (measured with Claude Code 2.1.329).
const Reminded = 5 * time.Second

// NoteAnswered notes that the dialog of a permission is closed. For a moment the registry still says that the agent waits, and a
// Notification may be on its way.
func NoteAnswered(d *Sight, agentID int64, now time.Time) {
	d.Outdate(agentID)
	d.memories.Change(agentID, func(m *sightMemory) { m.answeredAt = now })
}

// AnsweredAt returns when an agent went on after its last permission was answered.
func AnsweredAt(d *Sight, agentID int64) time.Time { return d.memories.Of(agentID).answeredAt }
