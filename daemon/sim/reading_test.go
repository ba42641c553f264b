package sim

import (
	"context"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// readBriefing reads the files that the predecessor left. It returns false if the turn was interrupted.
func (a *agent) readBriefing(ctx context.Context, paths []string) bool {
	if a.mood.unread > 0 && a.odd("briefing not read", a.mood.unread) { // else nothing is drawn, so that stories stay as they are
		return true
	}
	for _, path := range paths {
		if a.doIn(ctx, "reads its briefing", 0, 20*time.Millisecond) {
			return false
		}
		for _, line := range a.cli.read(a, path) {
			a.append(line)
		}
		a.hasRead = append(a.hasRead, path)
	}
	return true
}

// undecided reports whether the daemon has yet to say whether an agent has read its handoff: the agent has ended, or its first
// turn has.
func (w *world) undecided(a *daemon.Agent) bool {
	return a.Reading && (!a.Active() || a.UnreadAt == nil && w.firstTurnOver(a))
}

// firstTurnOver reports whether a turn has ended since a successor took its injection prompt.
func (w *world) firstTurnOver(a *daemon.Agent) bool {
	list := deliveries(w, a.ID)
	return a.BackgroundTasks == 0 && slices.ContainsFunc(list, func(d daemon.Delivery) bool {
		return d.Kind == daemon.KindPrompt && d.HandoffID != nil && d.Verdict != nil && *d.Verdict == daemon.Submitted && a.LastStop > d.AfterHook
	})
}

// checkReading: what a row says of a successor's reading is what the agent did, and the log has each once. A successor whose
// first turn has ended has read its briefing, or the operator was told that it has not.
func (w *world) checkReading(agents []daemon.Agent, events []event.Event) {
	for a := range each(agents) {
		if rt, err := catalog.For(a.Runtime); err != nil || !rt.Can.Reads.Shown() {
			continue // nothing shows what it has read
		}
		told := map[event.Type]int{}
		for e := range each(events) {
			if e.AgentID == nil || *e.AgentID != a.ID || e.Type != event.HandoffRead && e.Type != event.HandoffUnread {
				continue
			}
			told[e.Type]++
			if e.Alert != (e.Type == event.HandoffUnread) {
				w.fail("event %d (%s): alert is %t", e.ID, e.Type, e.Alert)
			}
		}
		if n := told[event.HandoffRead]; n != once(a.ReadAt) {
			w.fail("agent %d has read its handoff at %v, but the log has that %d times", a.ID, a.ReadAt, n)
		}
		if n := told[event.HandoffUnread]; n != once(a.UnreadAt) {
			w.fail("agent %d has not read its handoff at %v, but the log has that %d times", a.ID, a.UnreadAt, n)
		}
		if a.Active() && w.firstTurnOver(a) && a.ReadAt == nil && a.UnreadAt == nil {
			w.fail("the first turn of agent %d is over, and nobody has said whether it has read its handoff", a.ID)
		}
		switch p := w.newestProcess(a.ID); {
		case p == nil: // it ended before it knew its agent
		case a.ReadAt != nil && len(p.hasRead) < 2:
			w.fail("agent %d has read only %q, but its row says that it has read its handoff", a.ID, p.hasRead)
		case len(p.hasRead) >= 2 && a.ReadAt == nil && a.Active() && w.firstTurnOver(a):
			w.fail("agent %d has read %q, and its row does not say so", a.ID, p.hasRead)
		}
	}
}

// once is how often the log has what happened at a time, if it happened.
func once(at *time.Time) int {
	if at == nil {
		return 0
	}
	return 1
}
