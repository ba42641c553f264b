package api

import (
	"errors"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
)

// TestReloadSettings: the daemon takes over the settings that it reads, and keeps its own if it reads wrong ones.
func TestReloadSettings(t *testing.T) {
	t.Parallel()
	wrong := errors.New("settings: config.yaml: line 2: unknown key handof")
	var refuse error
	h := build(t, func(s *Server) {
		s.Daemon.Reread = func() (engine.Settings, []engine.SettingChange, error) {
			set := *s.Daemon.Settings()
			set.Handoff.AckTimeout = time.Minute
			return set, []engine.SettingChange{{Key: "handoff.ack_timeout", Was: "30s", Is: "1m0s"}}, refuse
		}
	})
	done := value(h.client.ReloadSettings(t.Context()))(t)
	if len(done.Changes) != 1 || h.server.Daemon.Settings().Handoff.AckTimeout != time.Minute {
		t.Errorf("changes %+v, acknowledged within %s", done.Changes, h.server.Daemon.Settings().Handoff.AckTimeout)
	}
	if list := value(h.client.Audit(t.Context(), daemon.AuditFilter{Types: []string{"settings_reloaded"}}))(t); len(list) != 1 || list[0].Alert {
		t.Errorf("events %+v", list)
	}
	h.server.Daemon.Settings().Handoff.AckTimeout, refuse = time.Hour, wrong
	refused(h.client.ReloadSettings(t.Context()))(t, daemon.KindInvalid, "bad_settings", wrong.Error())
	equal(t, "events", len(value(h.client.Audit(t.Context(), daemon.AuditFilter{Types: []string{"settings_refused"}}))(t)), 1)
	equal(t, "wrong settings were taken over", h.server.Daemon.Settings().Handoff.AckTimeout, time.Hour)
}
