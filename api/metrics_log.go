package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
)

const (
	eventsPage = 500                    // how many events are read from the log at once
	logRetry   = 500 * time.Millisecond // pause after a failed read of the log
)

// eventLog is the event log: its stored events and its new events.
type eventLog interface {
	// Subscribe returns a channel of new events and a function that ends the subscription. The channel is closed if its reader
	// falls behind.
	Subscribe() (<-chan *feed.Published, func())
	// Events returns the events after an id, in order.
	Events(ctx context.Context, f event.Filter) ([]event.Event, error)
}

// follow counts each event of one host one time, until ctx ends. If it falls behind, or the database does not answer, it
// continues later after the event that it counted last.
func (m *meter) follow(ctx context.Context, log eventLog, host string) {
	for ctx.Err() == nil {
		live, stop := log.Subscribe()
		if m.catchUp(ctx, log, host) {
			m.take(ctx, live, host)
		}
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(logRetry):
		}
	}
}

// catchUp counts the stored events after m.last. It returns false if it could not read them all.
func (m *meter) catchUp(ctx context.Context, log eventLog, host string) bool {
	for {
		events, err := log.Events(ctx, event.Filter{After: m.last, Limit: eventsPage})
		if err != nil {
			return false
		}
		for _, e := range events {
			m.event(e, host)
		}
		if len(events) < eventsPage {
			return true
		}
	}
}

// take counts new events until the channel is closed or ctx ends.
func (m *meter) take(ctx context.Context, live <-chan *feed.Published, host string) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-live:
			if !ok {
				return
			}
			m.event(e.Event, host)
		}
	}
}

// channels are the values of the label channel: the ways in which a notification can reach the operator.
var channels = []string{"desktop", "log", otherChannel}

const otherChannel = "other"

// event counts an event, unless it was counted before.
func (m *meter) event(e event.Event, host string) {
	if e.ID <= m.last {
		return
	}
	m.last = e.ID
	if e.Host != host {
		return // the daemon of that host counts it
	}
	var about struct {
		From       string      `json:"from"`
		Phase      string      `json:"phase"`
		PhaseMS    *float64    `json:"phase_ms"`
		TotalMS    *float64    `json:"total_ms"`
		AssemblyMS *float64    `json:"assembly_ms"`
		DurationMS *float64    `json:"duration_ms"`
		Mode       daemon.Mode `json:"mode"`
		Channel    string      `json:"channel"`
	}
	_ = json.Unmarshal(e.Payload, &about) // ignore the error: the times in the payload of another version are not counted
	_, end, _ := strings.Cut(string(e.Type), "_")
	switch e.Type {
	case event.AgentEnded:
		m.agentsEnded.Inc()
	case event.HandoffCompleted, event.HandoffFailed, event.HandoffCancelled:
		m.handoffsEnded.WithLabelValues(end).Inc()
	case event.HandoffCreated:
		observe(m.assembly, about.AssemblyMS)
	case event.PipelineDone, event.PipelineFailed:
		m.pipelinesEnded.WithLabelValues(end).Inc()
	case event.StepDone, event.StepFailed:
		observe(m.steps.WithLabelValues(end), about.DurationMS)
	case event.OperatorNotified:
		if !slices.Contains(channels, about.Channel) {
			about.Channel = otherChannel
		}
		m.notifications.WithLabelValues(about.Channel).Inc()
	}
	if !e.Type.About("handoff") {
		return
	}
	left := daemon.Phase(about.From + about.Phase) // the payload has only one of these two fields
	if slices.Contains(daemon.OpenPhases(), left) {
		observe(m.phases.WithLabelValues(string(left)), about.PhaseMS)
	}
	if slices.Contains(handoffModes, about.Mode) {
		observe(m.handoffs.WithLabelValues(string(about.Mode)), about.TotalMS)
	}
}

// observe adds a time in milliseconds, if there is one.
func observe(h interface{ Observe(float64) }, ms *float64) {
	if ms != nil {
		h.Observe(*ms / 1000)
	}
}
