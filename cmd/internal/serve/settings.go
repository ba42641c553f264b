package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/data/trust"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
)

// Settings are the values of config.yaml. The environment overrides them, and flags override both.
type Settings struct {
	Listen      string                     `yaml:"listen"`
	HostNames   []string                   `yaml:"host_names"` // by which browsers may call the daemon
	PublicURL   string                     `yaml:"public_url"` // at which browsers elsewhere find it
	DatabaseURL string                     `yaml:"database_url"`
	Resume      bool                       `yaml:"resume"` // after a start, agents that died with their tmux server
	Runtimes    map[string]RuntimeSettings `yaml:"runtimes"`
	Tmux        tmuxSettings               `yaml:"tmux"`
	Handoff     daemon.HandoffSettings     `yaml:"handoff"`
	Pipeline    daemon.PipelineSettings    `yaml:"pipeline"`
	Limits      daemon.LimitSettings       `yaml:"limits"`
	Sandbox     sandbox.Settings           `yaml:"sandbox"`
	Permissions daemon.PermissionSettings  `yaml:"permissions"`
	Dashboard   dashboardSettings          `yaml:"dashboard"`
	Notify      notifySettings             `yaml:"notify"`
	Events      daemon.LogSettings         `yaml:"events"`
	History     engine.HistorySettings     `yaml:"history"`
	Removed     []string                   `yaml:"-"` // one sentence for each setting that is set and no longer exists
}

// RuntimeSettings say how a runtime's CLI is started. The other fields are for a CLI that understudy does not know: see
// [catalog.Generic].
type RuntimeSettings struct {
	Command []string      `yaml:"command"`
	Ready   string        `yaml:"ready"`
	Exit    string        `yaml:"exit"`
	Quiet   time.Duration `yaml:"quiet_after"`
}

// generic returns the runtime of a CLI that understudy does not know; nil: it knows the CLI. If a setting is wrong, why says
// so, and key names it.
func (r *RuntimeSettings) generic(name string) (rt *runtimes.Runtime, key, why string) {
	if _, err := catalog.For(name); err == nil {
		if r.Ready != "" || r.Exit != "" || r.Quiet != 0 {
			return nil, "runtimes." + name, "takes no ready, exit and quiet_after: understudy knows this CLI"
		}
		return nil, "", ""
	}
	if r.Quiet != 0 && r.Quiet < time.Second {
		return nil, "runtimes." + name + ".quiet_after", "must be at least 1s"
	}
	rt, err := catalog.NewGeneric(name, catalog.Generic{Command: r.Command, Ready: r.Ready, Exit: r.Exit, Quiet: r.Quiet})
	if err != nil {
		return nil, "runtimes." + name + ".ready", err.Error()
	}
	return rt, "", ""
}

// tmuxSettings are about the tmux server of the daemon.
type tmuxSettings struct {
	Include string `yaml:"include"` // a file of tmux commands, for the options and keys of those who attach
}

// problem says what is wrong with the settings about tmux; "": nothing. The commands of the file can run programs.
func (s *tmuxSettings) problem() string {
	if s.Include == "" {
		return ""
	}
	if !filepath.IsAbs(s.Include) {
		return "must be an absolute path"
	}
	info, err := os.Stat(s.Include)
	switch {
	case err != nil:
		return "cannot be read: " + err.Error()
	case !info.Mode().IsRegular():
		return "must be a file"
	}
	if err := trust.Check(s.Include); err != nil {
		return err.Error()
	}
	return ""
}

// dashboardSettings say what browsers may do.
type dashboardSettings struct {
	Keys bool `yaml:"keys"` // an agent's pane may take keys from a page
}

// DefaultSettings returns the settings that apply without a file.
func DefaultSettings() Settings {
	return Settings{
		Listen:      "127.0.0.1:7433",
		Runtimes:    defaultRuntimes(),
		Handoff:     daemon.DefaultHandoff,
		Pipeline:    daemon.PipelineSettings{StepTimeout: 10 * time.Minute, MaxRunning: 4},
		Limits:      daemon.DefaultLimits,
		Permissions: daemon.DefaultPermissions,
		Dashboard:   dashboardSettings{Keys: true},
		Notify:      notifySettings{Desktop: true},
		Events:      daemon.DefaultLog,
	}
}

// defaultRuntimes returns the runtimes that we know, each with the usual name of its CLI.
func defaultRuntimes() map[string]RuntimeSettings {
	all := map[string]RuntimeSettings{}
	for _, rt := range catalog.All() {
		if len(rt.Command) > 0 {
			all[rt.Name] = RuntimeSettings{Command: rt.Command}
		}
	}
	return all
}

// HasPassword reports whether the address of a database, as a URL or as words such as password=x, has a password.
func HasPassword(address string) bool {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return true
		}
	}
	return strings.Contains(strings.ReplaceAll(address, " ", ""), "password=")
}

// secret names a setting that is a secret; "": there is none. Whoever knows the URL of a target may read, or send, its notifications.
func (s *Settings) secret() string {
	if HasPassword(s.DatabaseURL) {
		return "database_url"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Notify.Targets)) {
		if s.Notify.Targets[name].URL != "" {
			return "notify.targets." + name + ".url"
		}
	}
	return ""
}

// LoadSettings takes the defaults, overrides them with the file at path, and then with the environment. If the file is
// missing, that is an error only if a person has named the file. A file that others could change is refused: it says which programs
// run. So is a file with a secret that others could read.
func LoadSettings(path string, named bool, getenv func(string) string) (Settings, error) {
	s := DefaultSettings()
	if err := trust.Check(path); err != nil {
		return s, fmt.Errorf("settings: %w", err)
	}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
	case err != nil:
		return s, fmt.Errorf("settings: %w", err)
	default:
		if err := decodeSettings(b, &s); err != nil {
			return s, fmt.Errorf("settings: %s: %w", path, err)
		}
		if key := s.secret(); key != "" {
			if err := trust.Private(path); err != nil {
				return s, fmt.Errorf("settings: %s is a secret (which may stand in the environment or in a file of its own): %w", key, err)
			}
		}
	}
	if err := fromEnv(reflect.ValueOf(&s).Elem(), "UNDERSTUDY", getenv); err != nil {
		return s, err
	}
	for _, key := range slices.Sorted(maps.Keys(removed)) {
		if name := "UNDERSTUDY_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")); getenv(name) != "" {
			s.Removed = append(s.Removed, goneWords(name, key))
		}
	}
	return s, s.check(path)
}

// fromEnv overrides each setting whose variable is set: UNDERSTUDY_LISTEN, UNDERSTUDY_HANDOFF_DOCUMENT_TIMEOUT and so
// on. Only the file can set a map.
func fromEnv(v reflect.Value, prefix string, getenv func(string) string) error {
	for i := range v.NumField() {
		name := prefix + "_" + strings.ToUpper(keyOf(v.Type().Field(i)))
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			if err := fromEnv(f, name, getenv); err != nil {
				return err
			}
			continue
		}
		text := getenv(name)
		if text == "" || f.Kind() == reflect.Map || strings.HasSuffix(name, "_") {
			continue
		}
		if err := setField(f, text); err != nil {
			return fmt.Errorf("settings: %s=%q: %w", name, text, err)
		}
	}
	return nil
}

func setField(f reflect.Value, text string) error {
	if f.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("not a duration such as 5m or 30s")
		}
		f.SetInt(int64(d))
		return nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Slice: // of texts, with commas between them
		f.Set(reflect.ValueOf(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })))
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("not true or false")
		}
		f.SetBool(b)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("not a whole number")
		}
		f.SetInt(n)
	}
	return nil
}

// check refuses values that cannot work. Its error names the key.
func (s *Settings) check(path string) error {
	bad := func(key, why string) error {
		return fmt.Errorf("settings: %s (in %s or its UNDERSTUDY_ variable): %s", key, path, why)
	}
	if why := s.Tmux.problem(); why != "" {
		return bad("tmux.include", why)
	}
	h := s.Handoff
	if key, why := notPositive(reflect.ValueOf(h)); why != "" {
		return bad("handoff."+key, why)
	}
	if key, why := notPositive(reflect.ValueOf(s.Pipeline)); why != "" {
		return bad("pipeline."+key, why)
	}
	if d := s.Permissions.Hold; d < 0 || d > hooks.HoldTimeout {
		return bad("permissions.hold", "must be at most 55m, or 0s to hold no permission")
	}
	if d := s.Events.MaxAge; d != 0 && d < time.Hour {
		return bad("events.max_age", "must be at least 1h, or 0s to keep events for ever")
	}
	if d := s.History.MaxAge; d != 0 && d < 24*time.Hour {
		return bad("history.max_age", "must be at least 24h, or 0s to keep history for ever")
	}
	if cwd := s.Pipeline.Cwd; cwd != "" && !filepath.IsAbs(cwd) {
		return bad("pipeline.cwd", "must be an absolute path")
	}
	for _, target := range h.Targets {
		if _, err := personas.ParseSlug(target); err != nil && target != "*" {
			return bad("handoff.targets", fmt.Sprintf("%q is neither a persona such as reviewer-max-1 nor \"*\"", target))
		}
	}
	if b := h.Background; b != daemon.BackgroundWarn && b != daemon.BackgroundWait {
		return bad("handoff.background", "must be warn or wait")
	}
	if p := h.Secrets; p != daemon.SecretsWarn && p != daemon.SecretsRefuse && p != daemon.SecretsOff {
		return bad("handoff.secrets", "must be warn, refuse or off")
	}
	if key, why := s.Notify.problem(); key != "" {
		return bad("notify."+key, why)
	}
	if key, why := s.remoteProblem(); key != "" {
		return bad(key, why)
	}
	if key, why := s.Sandbox.Problem(); key != "" {
		return bad("sandbox."+key, why)
	}
	if key, why := limitProblem(&s.Limits, s.Runtimes); key != "" {
		return bad("limits."+key, why)
	}
	for name, r := range s.Runtimes {
		if len(r.Command) == 0 || r.Command[0] == "" {
			return bad("runtimes."+name+".command", "must be an argument list such as [claude]")
		}
		if _, key, why := r.generic(name); why != "" {
			return bad(key, why)
		}
	}
	if a := h.Auto; a.Warn < 1 || a.Warn > a.High || a.High > a.Trigger || a.Trigger > 100 {
		return bad("handoff.auto", "must be 1 <= warn <= high <= trigger <= 100")
	}
	return nil
}

// notPositive returns the key of a time or number among settings that is not positive, and what it must be; "": all are.
func notPositive(settings reflect.Value) (key, why string) {
	for i := range settings.NumField() {
		f, key := settings.Field(i), keyOf(settings.Type().Field(i))
		switch {
		case key == "" || !f.CanInt() || f.Int() > 0:
		case f.Type() == reflect.TypeFor[time.Duration]():
			return key, "must be a positive duration such as 5m"
		default:
			return key, "must be a positive number"
		}
	}
	return "", ""
}

// domain returns the settings that package daemon needs.
func (s *Settings) domain() engine.Settings {
	out := engine.Settings{
		Handoff: s.Handoff, Pipeline: s.Pipeline, Limits: s.Limits, Sandbox: s.Sandbox, Log: s.Events, History: s.History, Resume: s.Resume, Permissions: s.Permissions,
		Notify: daemon.NotifySettings{Desktop: s.Notify.Desktop}, NoKeys: !s.Dashboard.Keys,
		Runtimes: map[string][]string{}, Generic: map[string]*runtimes.Runtime{},
	}
	for name, r := range s.Runtimes {
		out.Runtimes[name] = r.Command
		if rt, _, _ := r.generic(name); rt != nil { // check has seen what is wrong
			out.Generic[name] = rt
		}
	}
	if out.Pipeline.Cwd == "" {
		out.Pipeline.Cwd, _ = os.Getwd() // if the directory is gone, each pipeline must name one
	}
	return out
}
