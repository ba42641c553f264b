package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// command is a hook that is to be answered after its transaction: a person's /handoff or, with a permissionID, a
// PermissionRequest.
type command struct {
	permissionID int64
	agentID      int64
	prompt       string
	at           time.Time // when the hook's command began
	again        bool      // the hook is stored already: its command lost the connection and waits on
}

// answerCommand requests the handoff that a person at the pane wants, and returns an answer that tells the person the
// result. The runtime shows the answer's reason and drops the prompt; the model sees neither (seen with Claude Code
// 2.1.329).
//
// If held is not nil, answerCommand calls it with the handoff's id, and returns when the document is recorded or the handoff
// has ended. Meanwhile the runtime shows that its hook runs, and Esc ends the hook.
func (d *Daemon) answerCommand(ctx context.Context, cmd command, held func(handoffID int64)) (json.RawMessage, error) {
	h, err := d.commandHandoff(ctx, cmd)
	var told *daemon.Error
	switch {
	case errors.As(err, &told):
		said := "No handoff was started: " + words.TrimDot(told.Message)
		if told.Code == daemon.ErrAgentNoPersona.Code {
			said += fmt.Sprintf(": give it one with `understudy agent assign %d PERSONA`", cmd.agentID)
		}
		return blockPrompt(said + "."), nil
	case err != nil:
		return nil, err
	case held == nil:
		return blockPrompt(views.StartedWords(&h)), nil
	}
	said, err := d.holdCommand(ctx, h.ID, held)
	if err != nil {
		return nil, err
	}
	return blockPrompt(said), nil
}

// blockPrompt is the answer to a UserPromptSubmit that drops the prompt and shows a sentence in its place.
func blockPrompt(said string) json.RawMessage {
	return event.JSON(map[string]any{
		"decision": "block", "reason": said,
		"hookSpecificOutput": map[string]any{"hookEventName": hooks.UserPromptSubmit, "suppressOriginalPrompt": true},
	})
}

// commandHandoff requests the handoff of a command. If the command waits on, it returns the handoff that the command has
// requested, unless the daemon was killed before that.
func (d *Daemon) commandHandoff(ctx context.Context, cmd command) (daemon.Handoff, error) {
	if cmd.again {
		list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{AgentID: cmd.agentID, Limit: 1})
		if err != nil {
			return daemon.Handoff{}, err
		}
		if len(list) > 0 && list[0].Reason == handoffs.ReasonCommand && !list[0].CreatedAt.Before(cmd.at.Truncate(time.Microsecond)) {
			return list[0], nil
		}
	}
	focus, _ := handoffCommand(cmd.prompt)
	return d.RequestHandoff(ctx, cmd.agentID, handoffs.HandoffRequest{Reason: handoffs.ReasonCommand, Focus: focus, Mode: daemon.ModeGenerate})
}

// holdCommand waits until a person at the pane can be told how the handoff that they have requested goes on, and returns
// the sentence for them. If the person types another prompt meanwhile, it returns at once: the runtime begins that prompt's
// turn after the hook, and the document waits for the end of that turn.
func (d *Daemon) holdCommand(ctx context.Context, handoffID int64, held func(handoffID int64)) (string, error) {
	live, stop := d.Subscribe() // before the first look, so that no event is missed
	defer stop()
	h, err := d.Store.Handoff(ctx, handoffID)
	if err != nil {
		return "", err
	}
	d.holding(h.AgentID, 1)
	defer d.holding(h.AgentID, -1)
	held(handoffID)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		a, err := d.Store.Agent(ctx, h.AgentID)
		if err != nil {
			return "", err
		}
		if h, err = d.Store.Handoff(ctx, handoffID); err != nil {
			return "", err
		}
		if said := views.CommandWords(&h, &a); said != "" {
			return said, nil
		}
		if live, err = awaitEvent(ctx, live, tick.C); err != nil {
			return "", fmt.Errorf("handoff %d: its command: %w", handoffID, err)
		}
	}
}

// awaitEvent waits for an event of the feed or a tick. If the hub has dropped the subscriber, it returns nil for the feed:
// the ticks are enough.
func awaitEvent(ctx context.Context, live <-chan *feed.Published, tick <-chan time.Time) (<-chan *feed.Published, error) {
	select {
	case <-ctx.Done():
		return live, ctx.Err()
	case _, ok := <-live:
		if !ok {
			live = nil
		}
	case <-tick:
	}
	return live, nil
}

// holding counts the held hooks of an agent.
func (d *Daemon) holding(agentID int64, n int) {
	sight.NoteHeld(d.Sight, agentID, n)
	d.Wake(agentID)
}

// inPane ends the sentence about a handoff that a person has cancelled with Esc in the agent's pane.
const inPane = " in the agent's pane"

// cancelInPane cancels the open handoff of a /handoff, because the person has interrupted the hook that waited for it. It
// does nothing if the document is recorded or the session has ended: the handoff then goes on.
func (h *hookStep) cancelInPane() {
	hf := h.tx.Handoff
	if hf == nil || hf.ID != h.p.Handoff || !hf.Cancellable() || !h.goesOn {
		return
	}
	var waits *daemon.Delivery
	for _, dl := range h.tx.Deliveries {
		if hf.DeliveryID != nil && dl.ID == *hf.DeliveryID {
			waits = dl
		}
	}
	c := handoffs.Cancelled(&h.Facts, hf, waits, inPane, h.Now)
	h.out.Change.Deliveries = append(h.out.Change.Deliveries, c.Deliveries...)
	h.out.Change.Move = c.Move
	for _, e := range c.Events {
		h.out.Change.Events = append(h.out.Change.Events, e.For(h.tx.Agent.PipelineID, h.tx.Agent.StepID))
	}
	h.cancelled = true
}

// interruptShows is how long a runtime may take to say in its registry that it is idle after Esc. It takes some 100 ms
// (measured with Claude Code 2.1.330).
const interruptShows = 700 * time.Millisecond

// goesOnAfter reports whether the runtime that has ended its held hook goes on with its session, as after Esc. A runtime
// that is itself being ended, as by the close of its terminal, ends its hooks in the same way: it never says that it is idle.
func (d *Daemon) goesOnAfter(ctx context.Context, rt *runtimes.Runtime, p *hooks.Payload, c claim, replayed bool) bool {
	dir, proc := runtimes.ConfigDirOfTranscript(p.TranscriptPath), c.proc
	if proc.PID == 0 || rt.Registry == nil || dir == "" {
		return false
	}
	if replayed { // a runtime that was being ended is gone by now
		return d.Lives(proc)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(interruptShows); d.Lives(proc) && time.Now().Before(until); {
		reg, ok := sight.ReadEntry(d.Sight, rt.Registry(dir, proc.PID))
		if c.boxed != nil {
			reg, ok = sight.EntryInside(d.Sight, c.boxed)
		}
		if ok && reg.Status == runtimes.StatusIdle {
			return true
		}
		if !lane.Ticked(ctx, tick.C) {
			return false
		}
	}
	return false
}
