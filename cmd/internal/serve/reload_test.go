package serve

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/daemon/engine"
)

// TestReread: a reload says which settings have changed, shows no password, and keeps what only a start can change.
func TestReread(t *testing.T) {
	t.Parallel()
	next := DefaultSettings()
	cfg := Config{Settings: DefaultSettings(), Getenv: func(string) string { return "" }}
	cfg.Settings.DatabaseURL = "postgres://u:old-secret@db/x"
	cfg.Reread = func() (Settings, error) {
		if next.Listen == "" {
			return Settings{}, errors.New("no address")
		}
		return next, nil
	}
	reread := cfg.reread(desktop.New(true, cfg.Getenv, ""))
	next.DatabaseURL = "postgres://u:new-secret@db/x"
	next.HostNames = []string{"desk.example"}
	next.Notify.Targets = map[string]targetSettings{"phone": {Type: "ntfy", URL: "https://ntfy.sh/hush"}}
	next.Handoff.AckTimeout = time.Minute
	next.Handoff.Targets = []string{"reviewer-max-1"}
	next.Runtimes["claude"] = RuntimeSettings{Command: []string{"claude", "--verbose"}}
	got, changes, err := reread()
	want := []engine.SettingChange{
		{Key: "database_url", Was: "(not shown)", Is: "(not shown)", Kept: true},
		{Key: "handoff.ack_timeout", Was: "30s", Is: "1m0s"},
		{Key: "handoff.targets", Was: "not set", Is: "[reviewer-max-1]"},
		{Key: "host_names", Was: "not set", Is: "[desk.example]", Kept: true},
		{Key: "notify.targets.phone.type", Was: "not set", Is: "ntfy", Kept: true},
		{Key: "notify.targets.phone.url", Was: "not set", Is: "(not shown)", Kept: true},
		{Key: "runtimes.claude.command", Was: "[claude]", Is: "[claude --verbose]"},
	}
	if err != nil || !slices.Equal(changes, want) || got.Handoff.AckTimeout != time.Minute {
		t.Fatalf("changes %+v, %v", changes, err)
	}
	if _, changes, err = reread(); err != nil || len(changes) != 4 || slices.ContainsFunc(changes, func(c engine.SettingChange) bool { return !c.Kept }) {
		t.Errorf("once more: %+v, %v; database, names and targets wait for a start", changes, err)
	}
	next.Listen = ""
	if _, _, err = reread(); err == nil {
		t.Error("wrong settings were taken over")
	}
	next = DefaultSettings()
	if got, changes, err = reread(); err != nil || got.Handoff.AckTimeout != 30*time.Second || len(changes) == 0 {
		t.Errorf("after wrong settings: %+v, %v", changes, err)
	}
}
