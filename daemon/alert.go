package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// runAlerts tells the operator of each event that has Alert set, in order. The rows are its
// queue: an alert that was committed before a crash is told by the next daemon. A notifier that
// hangs or fails holds up nothing but later alerts, two seconds each.
func (d *Daemon) runAlerts(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		d.tellAlerts(ctx)
		select {
		case <-ctx.Done():
			return
		case <-d.alarm:
		case <-tick.C:
		}
	}
}

func (d *Daemon) tellAlerts(ctx context.Context) {
	events, err := d.Store.PendingAlerts(ctx, d.Host, 50)
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Warn("alerts not read; trying again", "error", err)
		}
		return
	}
	for _, e := range events {
		if ctx.Err() != nil {
			return
		}
		d.tell(ctx, &e)
	}
}

func (d *Daemon) tell(ctx context.Context, e *Event) {
	title, message := alertText(e)
	d.Log.Error(title, "event_id", e.ID, "type", e.Type, "message", withoutScreen(message))
	callCtx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, fmt.Errorf("notification took over 3 s"))
	channel, err := d.Notifier.Notify(callCtx, title, message)
	cancel()
	payload := map[string]any{"event_id": e.ID, "channel": channel, "title": title, "message": message}
	if err != nil {
		payload["error"] = err.Error()
	}
	told := &Event{
		Type: "operator_notified", At: time.Now().UTC(), Host: d.Host,
		AgentID: e.AgentID, HandoffID: e.HandoffID, PipelineID: e.PipelineID, StepID: e.StepID, Payload: mustJSON(payload),
	}
	if err := d.Store.MarkAlerted(ctx, e.ID, told); err != nil && ctx.Err() == nil {
		d.Log.Warn("alert not marked as told; it may be told again", "event_id", e.ID, "error", err)
		return
	}
	d.hub.poke()
}

// alertText words an alert: what happened, and what to do next.
func alertText(e *Event) (title, message string) {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Payload, &p) // an alert without a message still has its type
	what := strings.ReplaceAll(e.Type, "_", " ")
	switch {
	case e.HandoffID != nil:
		title = fmt.Sprintf("understudy: %s (handoff %d)", what, *e.HandoffID)
	case e.PipelineID != nil && !strings.HasPrefix(e.Type, "agent_"):
		title = fmt.Sprintf("understudy: %s (pipeline %d)", what, *e.PipelineID)
	case e.AgentID != nil:
		title = fmt.Sprintf("understudy: %s (agent %d)", what, *e.AgentID)
	default:
		title = "understudy: " + what
	}
	return title, p.Message
}

// quoted is what an agent's pane shows, as it stands in a sentence: between these marks.
var quoted = regexp.MustCompile(`‹[^›]*›`)

// withoutScreen takes what a pane shows out of a sentence: it is for the operator's eyes, and what
// it may contain must not enter a log.
func withoutScreen(message string) string { return quoted.ReplaceAllString(message, "‹…›") }

// mustJSON marshals values that cannot fail to: maps, strings and numbers of our own.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("daemon: event payload: " + err.Error())
	}
	return b
}
