package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
)

// notificationsOf keeps, of these notifications, those that tell of the event.
func notificationsOf(r *rig, e event.Event, told []event.Event) []event.Event {
	r.t.Helper()
	return slices.DeleteFunc(told, func(n event.Event) bool { return field(r.t, n, "event_id") != float64(e.ID) })
}

// notifications lists all notifications.
func notifications(r *rig) []event.Event {
	r.t.Helper()
	return r.eventsWhere(func(e event.Event) bool { return e.Type == "operator_notified" })
}

// messages lists the messages of all events of a type.
func messages(r *rig, typ event.Type) (out []string) {
	r.t.Helper()
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.Type == typ }) {
		out = append(out, fmt.Sprint(field(r.t, e, "message")))
	}
	return out
}

// awaitAlert waits until the operator was notified of the handoff's last event of a type.
func awaitAlert(r *rig, handoffID int64, typ string) {
	r.t.Helper()
	r.await(fmt.Sprintf("handoff %d: operator told of %s", handoffID, typ), func() (bool, string) {
		about := r.handoffEvents(handoffID, typ)
		if len(about) == 0 {
			return false, "no such event"
		}
		last := about[len(about)-1]
		return len(notificationsOf(r, last, r.handoffEvents(handoffID, "operator_notified"))) > 0, fmt.Sprintf("event %d: nobody was told", last.ID)
	})
}

// awaitNotification waits until the operator got a notification for which of returns true, and returns its event.
func awaitNotification(r *rig, of func(event.Event) bool) (told event.Event) {
	r.t.Helper()
	r.await("operator told", func() (bool, string) {
		list := notifications(r)
		i := slices.IndexFunc(list, of)
		if i >= 0 {
			told = list[i]
		}
		return i >= 0, ""
	})
	return told
}

// wantAlerts fails unless the agent has n events of the type, each an alert whose sentence contains the part and of
// which the operator was notified.
func wantAlerts(r *rig, agentID int64, typ string, n int, part string) {
	r.t.Helper()
	about := r.agentEvents(agentID, typ)
	if len(about) != n {
		r.t.Errorf("agent %d: %d events %s, want %d\n%s", agentID, len(about), typ, n, r.report())
	}
	for _, e := range about {
		if text, _ := field(r.t, e, "message").(string); !strings.Contains(text, part) || !strings.HasSuffix(text, ".") {
			r.t.Errorf("%s: %q, want a sentence with %q", typ, text, part)
		}
		r.await("operator told of "+typ, func() (bool, string) {
			return len(notificationsOf(r, e, notifications(r))) > 0, fmt.Sprintf("event %d", e.ID)
		})
	}
}

// awaitAlertEvent waits until the event log has an alert of the type.
func awaitAlertEvent(r *rig, typ string) {
	r.t.Helper()
	r.await(typ, func() (bool, string) {
		events, err := r.events(context.Background())
		return slices.ContainsFunc(events, func(e event.Event) bool { return string(e.Type) == typ && e.Alert }), fmt.Sprint(err)
	})
}
