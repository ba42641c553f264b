package api

import (
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

func TestPreferences(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	const path = "/api/notifications/preferences"
	wants := func(name string, got tell.Preferences, waiting, completed, set bool) {
		t.Helper()
		if !got.Errors || got.Waiting != waiting || got.Completed != completed || got.Desktop || (got.UpdatedAt != nil) != set {
			t.Errorf("%s: %+v, want waiting %t, completed %t, set %t", name, got, waiting, completed, set)
		}
	}
	changes := func() int {
		list := value(h.store.Events(t.Context(), event.Filter{Types: []string{"operator_preferences_changed"}}))(t)
		return len(list)
	}
	no := false
	wants("at first", value(h.client.NotificationPreferences(t.Context()))(t), true, true, false)
	wants("without a field", value(h.client.SetNotificationPreferences(t.Context(), notices.PreferenceChange{}))(t), true, true, true)
	equal(t, "events of changes that changed nothing", changes(), 0)
	wants("waiting off", value(h.client.SetNotificationPreferences(t.Context(), notices.PreferenceChange{Waiting: &no}))(t), false, true, true)
	wants("completed off", value(h.client.SetNotificationPreferences(t.Context(), notices.PreferenceChange{Completed: &no}))(t), false, false, true)
	wants("read again", value(h.client.NotificationPreferences(t.Context()))(t), false, false, true)

	// A client may send an answer back with one field changed.
	door := h.mainDoor()
	whole := strings.Replace(string(door.do("GET", path, "").body), `"waiting":false`, `"waiting":true`, 1)
	door.ok("PUT", path, whole)
	wants("sent back", value(h.client.NotificationPreferences(t.Context()))(t), true, false, true)
	equal(t, "events of 3 changes", changes(), 3)
	for body, code := range map[string]string{
		`{"errors":false}`:                 `"errors_always"`,
		`{"errors":false,"waiting":false}`: `"errors_always"`,
		`{"desktop":true}`:                 `notify.desktop in config.yaml`,
		`{"waiting":"no"}`:                 `Field \"waiting\" must be true or false`,
		`{"sound":true}`:                   `"unknown_field"`,
	} {
		if got := door.do("PUT", path, body); got.status != 400 || !strings.Contains(string(got.body), code) {
			t.Errorf("PUT %s: %d %s, want 400 with %s", body, got.status, got.body, code)
		}
	}
	wants("after refusals", value(h.client.NotificationPreferences(t.Context()))(t), true, false, true)
}

func TestNotificationIsTested(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	if got := value(h.client.TestNotification(t.Context(), ""))(t); got.Channel != "nowhere" || got.Error != nil {
		t.Errorf("told by %+v, want what the notifier says", got)
	}
}

// TestTargets: a request names a target of the settings, and can name no other; the list says how each does.
func TestTargets(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	list := value(h.client.NotificationTargets(t.Context()))(t)
	if len(list) != 1 || list[0].Name != "phone" || list[0].State != "unused" || list[0].LastError != nil {
		t.Errorf("targets %+v", list)
	}
	if got := value(h.client.TestNotification(t.Context(), "phone"))(t); got.Channel != "phone" || got.Error != nil {
		t.Errorf("test: %+v", got)
	}
	door := h.tcpDoor()
	door.do("POST", "/api/notifications/test", `{"target": "http://127.0.0.1:1/"}`).wants(t, "an address", 404, "target_not_found")
	door.do("POST", "/api/notifications/test", `{"target": "phone", "url": "http://127.0.0.1:1/"}`).wants(t, "an address besides", 400, "unknown_field")
	must(t, h.store.Commit(t.Context(), &daemon.Change{Events: []*event.Event{{Type: event.SpoolUnreadable, Host: "here", At: time.Now(), Alert: true}}}))
	tmuxtest.Eventually(t, "the target to be down", func() bool {
		list := value(h.client.NotificationTargets(t.Context()))(t)
		return list[0].State == "down" && list[0].LastError != nil && *list[0].LastError == "127.0.0.1 answered 403 Forbidden"
	})
	events := value(h.store.Events(t.Context(), event.Filter{Types: []string{string(event.NotificationFailed)}}))(t)
	if len(events) != 1 || !events[0].Alert || !strings.Contains(string(events[0].Payload), "understudy notifications test phone") {
		t.Errorf("events %+v", events)
	}
}
