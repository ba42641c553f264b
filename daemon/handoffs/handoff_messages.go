package handoffs

import (
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/words"
)

// clearQueue decides, at the record, what becomes of the texts that are queued for the outgoing agent.
func clearQueue(r *handoffRun, c *daemon.Change) error {
	h, a := r.h, r.agent
	if h.Keep {
		return nil
	}
	c.Drop(a.ID, daemon.EvidenceRecorded, !h.DropMessages)
	c.DropAsked = h.DropMessages
	if a.StepID == nil || a.FirstPromptID == nil || !c.SpareMessages {
		return nil
	}
	dl, err := r.d.Store.Delivery(r.ctx, *a.FirstPromptID)
	if err == nil && dl.State == daemon.DeliveryQueued {
		dl.DecideBy(daemon.NotSubmitted, daemon.EvidenceRecorded, r.now)
		c.Deliveries = append(c.Deliveries, &dl)
		c.Events = append(c.Events, r.d.DroppedEvent(&dl, daemon.EvidenceRecorded))
	}
	return err
}

// complete adds to the change that completes the handoff that the queued messages of the outgoing agent are passed on. It writes
// the agent's row as well: if a message is queued for the agent at the same time, one of the two commits gets ErrMoved.
func complete(r *handoffRun, c *daemon.Change) error {
	if !deliveries.Passes(r.h) {
		return nil
	}
	to, err := messagesTo(r)
	if err != nil {
		return err
	}
	c.WriteAgent(r.agent)
	return r.d.PassMessages(r.ctx, c, r.agent, to, &r.h.ID)
}

// messagesTo returns the agent that gets the queued messages: the first heir that has not ended; if all have, the first one,
// whose lane then tells the operator.
func messagesTo(r *handoffRun) (int64, error) {
	ids := r.h.SuccessorIDs()
	for _, id := range ids {
		next, err := r.d.Store.Agent(r.ctx, id)
		if err != nil || next.Active() {
			return id, err
		}
	}
	return ids[0], nil
}

// waitingMessages says, for the end of a failure's sentences, that messages wait for the successor; "": none do.
func waitingMessages(r *handoffRun) string {
	if !deliveries.Passes(r.h) || r.agent.Active() {
		return ""
	}
	queued, err := r.d.MessagesOf(r.ctx, r.agent)
	if err != nil || len(queued) == 0 {
		return ""
	}
	return fmt.Sprintf(" The successor of agent %d gets %s that it has not got: `understudy agent messages %[1]d`.", r.agent.ID, words.Count(len(queued), "message"))
}

// warnOfPlace adds a warning to the handoff if the successor was to take its predecessor's pane and has another one.
func warnOfPlace(r *handoffRun, next *daemon.Agent) {
	if !r.h.InPlace || next.Ref() == r.agent.Ref() {
		return
	}
	why := "the pane was gone, a program still ran in it, or a client in control mode was attached"
	if !r.agent.Managed {
		why = "the pane is in a tmux server of your own, where a shell may run in it"
	}
	warning := fmt.Sprintf("Agent %d did not take the pane of agent %d: %s. It has a pane of its own: `understudy agent attach %[1]d`.", next.ID, r.agent.ID, why)
	if !slices.Contains(r.h.Warnings, warning) {
		r.h.Warnings = append(r.h.Warnings, warning)
	}
}

// inPlace decides whether a new handoff is in place.
func (d *Flow) inPlace(a *daemon.Agent, in *HandoffRequest, heirs []daemon.HandoffHeir) bool {
	switch {
	case in.Keep || len(heirs) > 1:
		return false
	case in.InPlace != nil:
		return *in.InPlace
	}
	return a.Host == d.Host && d.Settings().Handoff.InPlace
}
