package deliveries

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// Queue holds the texts that wait for agents, and passes them on. Its methods are safe for concurrent use.
type Queue struct{ *sight.Sight }

// SendMessage queues a text for an agent. When the agent is idle, its lane types the queued texts in order. The delivery
// later gets a verdict: whether the agent took the text. If the agent's handoff is recorded, its successor gets the text.
func (d *Queue) SendMessage(ctx context.Context, id int64, text string, command bool) (daemon.Delivery, error) {
	for {
		dl, err := d.QueueMessage(ctx, id, text, command, nil)
		if !errors.Is(err, daemon.ErrMoved) || ctx.Err() != nil {
			return dl, err
		}
	}
}

// QueueMessage is one attempt of SendMessage. from is the agent that sends the text; nil: the operator does.
func (d *Queue) QueueMessage(ctx context.Context, id int64, text string, command bool, from *daemon.Agent) (daemon.Delivery, error) {
	a, err := d.Agent(ctx, id)
	if err != nil {
		return daemon.Delivery{}, err
	}
	h, open, err := d.OpenHandoff(ctx, id)
	if err != nil {
		return daemon.Delivery{}, err
	}
	leaves := open && Leaves(&h)
	switch {
	case leaves && h.DropMessages:
		return daemon.Delivery{}, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffRecorded, "Agent's handoff is recorded: send the message to its successor")
	case leaves: // its successor gets it
	case !a.Active():
		return daemon.Delivery{}, daemon.ErrAgentNotActive
	case !a.HasPane() && !a.Launching():
		return daemon.Delivery{}, a.NoPaneError()
	case a.StopAskedAt != nil:
		return daemon.Delivery{}, daemon.ErrAgentStopping
	}
	dl, err := d.NewMessage(ctx, id, text, command)
	switch {
	case err != nil:
		return daemon.Delivery{}, err
	case leaves && dl.Kind == daemon.KindCommand:
		return daemon.Delivery{}, daemon.Errorf(daemon.KindConflict, daemon.CodeHandoffRecorded, "Agent's handoff is recorded: send the command to its successor")
	case leaves:
		dl.Evidence = "it waits for the agent's successor"
	}
	if from != nil {
		dl.FromAgentID = &from.ID
	}
	c := &daemon.Change{NewDeliveries: []*daemon.Delivery{dl}, Events: []*event.Event{d.Event(event.DeliveryQueued, &id, nil, map[string]any{"delivery_id": dl.ID, "kind": dl.Kind})}}
	// Write the agent's row as well. If a change that drops the agent's messages is committed at the same time, the
	// second of the two then gets ErrMoved. Otherwise this message could be queued after the drop, and be neither typed
	// nor reported.
	c.WriteAgent(&a)
	if from != nil {
		c.WriteAgent(from) // if it sends two messages at once, the second gets ErrMoved, and its next attempt counts the first
		about := map[string]any{"to_agent_id": id, "delivery_id": dl.ID}
		if found := d.Settings().Handoff.Secrets.Seen(text); found != "" {
			about["secrets"] = found
		}
		c.Events = append(c.Events, d.Event(event.AgentMessaged, &from.ID, nil, about))
	}
	if err := d.Commit(ctx, c); err != nil {
		return daemon.Delivery{}, fmt.Errorf("agent %d: message: %w", id, err)
	}
	return *dl, nil
}

// MaxMessage is the length in bytes of the longest text that may be sent.
const MaxMessage = 64 << 10

// NewMessage checks a text and makes its delivery. It refuses a text that can't be typed. It changes a text only at its
// ends, as [runtimes.SafePrompt] does.
func (d *Queue) NewMessage(ctx context.Context, agentID int64, text string, command bool) (*daemon.Delivery, error) {
	if len(text) > MaxMessage {
		return nil, daemon.Errorf(daemon.KindTooLarge, daemon.CodeTextTooLong, "The text has %d bytes but at most %d may be sent: put it into a file and name that", len(text), MaxMessage)
	}
	if err := CheckTyped(text); err != nil {
		return nil, err
	}
	kind := daemon.KindMessage
	switch isCommand := runtimes.IsCommandText(text); {
	case isCommand && !command:
		return nil, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeTextIsCommand, `The agent's runtime would take the text for a command: send it with "command": true if you mean that`)
	case isCommand:
		kind = daemon.KindCommand
	default:
		safe, err := runtimes.SafePrompt(text)
		if err != nil {
			return nil, &daemon.Error{Kind: daemon.KindInvalid, Code: daemon.CodeBadText, Message: "The text is empty", Cause: err}
		}
		text = safe
	}
	id, err := d.Store.NextID(ctx, daemon.DeliveryIDs)
	if err != nil {
		return nil, err
	}
	return daemon.NewDelivery(id, agentID, kind, text, "", d.Now()), nil
}

// CheckTyped refuses a text with control characters, because they would act like keys in a pane.
func CheckTyped(text string) error {
	if !utf8.ValidString(text) {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadText, "The text is not valid UTF-8")
	}
	if r, i := ControlIn(text, "\n\t"); i >= 0 {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadText, "The text has the control character U+%04X at byte %d: it could do more than be read", r, i)
	}
	return nil
}

// Deliveries lists the deliveries to an agent, the newest first.
func (d *Queue) Deliveries(ctx context.Context, agentID, before int64, limit int) ([]daemon.Delivery, error) {
	if _, err := d.Agent(ctx, agentID); err != nil {
		return nil, err
	}
	return d.Store.Deliveries(ctx, agentID, before, limit)
}

// ControlIn returns the first control character of s that is not in allowed, and the byte where it begins; -1: there is none.
func ControlIn(s, allowed string) (r rune, at int) {
	for i, c := range s {
		if unicode.IsControl(c) && !strings.ContainsRune(allowed, c) {
			return c, i
		}
	}
	return 0, -1
}
