package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// SettingChange is a change of one setting in config.yaml.
type SettingChange struct {
	Key  string `json:"key"` // such as handoff.ack_timeout
	Was  string `json:"was"`
	Is   string `json:"is"`
	Kept bool   `json:"kept"` // the daemon works with the value Was until it is started again
}

// Reloaded is what a reload of the settings has changed.
type Reloaded struct {
	Changes []SettingChange `json:"changes"`
}

// Settings returns the operator's settings. Nobody changes them: a reload puts others in their place. A flow that must not
// see two different settings keeps the result.
func (d *Engine) Settings() *Settings { return d.settings.Load() }

// Reload reads the operator's settings again. Work that is under way goes on by the new ones: a deadline that has passed
// by them takes effect at once. If the settings are wrong, the daemon keeps the old ones, alerts the operator, and Reload
// returns the reason.
func (d *Engine) Reload(ctx context.Context) (Reloaded, error) {
	if d.Reread == nil {
		return Reloaded{}, daemon.Errorf(daemon.KindUnavailable, daemon.CodeNoSettings, "The settings of this daemon come from no file: start it again to change them")
	}
	d.reloading.Lock()
	defer d.reloading.Unlock()
	set, changes, err := d.Reread()
	if err != nil {
		e := d.Event(event.SettingsRefused, nil, nil, map[string]any{"message": fmt.Sprintf(
			"The settings were not taken over: %s. The daemon goes on with those that it had: mend the file and run `understudy reload`.",
			strings.TrimSuffix(err.Error(), "."))})
		e.Alert = true
		if err := d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil {
			d.Log.Error("refused settings could not be logged", "error", err)
		}
		return Reloaded{}, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadSettings, "%s", err)
	}
	d.settings.Store(&set)
	if len(changes) == 0 {
		return Reloaded{Changes: []SettingChange{}}, nil
	}
	d.Wake(0) // deadlines have moved
	e := d.Event(event.SettingsReloaded, nil, nil, map[string]any{"changes": changes, "message": changesWords(changes)})
	if err := d.Commit(ctx, &daemon.Change{Events: []*event.Event{e}}); err != nil {
		return Reloaded{Changes: changes}, fmt.Errorf("the settings were taken over, but not logged: %w", err)
	}
	return Reloaded{Changes: changes}, nil
}

// TellMistake alerts the operator to a mistake in a file that the settings name, which shows only when the file is used.
func TellMistake(d *Engine, err error) {
	d.Log.Warn("a file that the settings name has a mistake", "error", err)
	d.Alert(event.SettingsRefused, err.Error()+".")
}

// changesWords says which settings have changed.
func changesWords(changes []SettingChange) string {
	var now, later []string
	for _, c := range changes {
		if c.Kept {
			later = append(later, c.Key)
			continue
		}
		now = append(now, fmt.Sprintf("%s is %s (was %s)", c.Key, c.Is, c.Was))
	}
	var out []string
	if len(now) > 0 {
		out = append(out, "The settings were taken over: "+strings.Join(now, "; ")+".")
	}
	if len(later) > 0 {
		out = append(out, "Start the daemon again to take over "+strings.Join(later, ", ")+".")
	}
	return strings.Join(out, " ")
}
