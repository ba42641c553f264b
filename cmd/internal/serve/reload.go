package serve

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/daemon/engine"
)

// fixed are the settings which a daemon reads only when it starts.
var fixed = []string{"listen", "database_url", "host_names", "public_url", "resume"}

// fixedTargets begins the keys of the targets of notifications, which a daemon reads only when it starts as well.
const fixedTargets = "notify.targets."

// secret are the settings whose values are not shown, because they may hold a password.
var secret = []string{"database_url"}

// reread returns the function [daemon.Config.Reread] of a daemon that has started with the settings of cfg. show shows the
// desktop's notifications.
func (cfg Config) reread(show *desktop.Desktop) func() (engine.Settings, []engine.SettingChange, error) {
	if cfg.Reread == nil {
		return nil
	}
	at := cfg.Settings
	return func() (engine.Settings, []engine.SettingChange, error) {
		next, err := cfg.Reread()
		if err != nil {
			return engine.Settings{}, nil, err
		}
		cfg.warnOfRemoved(next.Removed)
		changes := differences(&at, &next)
		next.Listen, next.DatabaseURL = at.Listen, at.DatabaseURL
		next.HostNames, next.PublicURL, next.Notify.Targets, next.Resume = at.HostNames, at.PublicURL, at.Notify.Targets, at.Resume // each reload says that they wait for a start
		at = next
		show.Enable(at.Notify.Desktop)
		return at.domain(), changes, nil
	}
}

// warnOfRemoved logs which settings are set that no longer exist.
func (cfg *Config) warnOfRemoved(said []string) {
	for _, s := range said {
		cfg.Log.Warn(s)
	}
}

// differences lists the settings that differ, by their keys.
func differences(was, is *Settings) []engine.SettingChange {
	before, after := map[string]string{}, map[string]string{}
	flatten(reflect.ValueOf(*was), "", before)
	flatten(reflect.ValueOf(*is), "", after)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	var out []engine.SettingChange
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		was, is := before[key], after[key]
		if was == is || was == "" && is == "false" || was == "false" && is == "" { // the defaults of a target that is new, or gone
			continue
		}
		if slices.Contains(secret, key) || strings.HasPrefix(key, fixedTargets) && strings.HasSuffix(key, ".url") { // who knows a topic can read it
			was, is = masked(was), masked(is)
		}
		out = append(out, engine.SettingChange{
			Key: key, Was: cmp.Or(was, "not set"), Is: cmp.Or(is, "not set"), Kept: slices.Contains(fixed, key) || strings.HasPrefix(key, fixedTargets),
		})
	}
	return out
}

// masked hides a value. Whether there is one may be seen.
func masked(value string) string {
	if value == "" {
		return ""
	}
	return "(not shown)"
}

// flatten writes the values of settings to out, by their keys.
func flatten(v reflect.Value, key string, out map[string]string) {
	below := func(name string) string { return strings.TrimPrefix(key+"."+name, ".") }
	_, ofRuntime := v.Interface().(RuntimeSettings)
	switch {
	case ofRuntime && v.IsZero(): // the runtime is named, and nothing else
		out[key] = ""
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if ofRuntime && v.Field(i).IsZero() {
				continue // each kind of runtime has its own settings
			}
			if name := keyOf(v.Type().Field(i)); name != "" {
				flatten(v.Field(i), below(name), out)
			}
		}
	case v.Kind() == reflect.Map:
		for _, k := range v.MapKeys() {
			flatten(v.MapIndex(k), below(k.String()), out)
		}
	case v.Kind() == reflect.Slice && v.Len() == 0, v.IsZero() && v.Kind() == reflect.String:
		out[key] = ""
	case v.Type() == reflect.TypeFor[time.Duration]():
		out[key] = time.Duration(v.Int()).String()
	default:
		out[key] = fmt.Sprint(v.Interface())
	}
}
