package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// Settings are the values of config.yaml. The environment overrides them, and flags override both.
type Settings struct {
	Listen      string                     `yaml:"listen"`
	DatabaseURL string                     `yaml:"database_url"`
	Runtimes    map[string]RuntimeSettings `yaml:"runtimes"`
	Handoff     handoffSettings            `yaml:"handoff"`
	Pipeline    pipelineSettings           `yaml:"pipeline"`
	Notify      notifySettings             `yaml:"notify"`
	Events      eventsSettings             `yaml:"events"`
	History     historySettings            `yaml:"history"`
}

type RuntimeSettings struct {
	Command []string `yaml:"command"`
}

type handoffSettings struct {
	DocumentTimeout     time.Duration `yaml:"document_timeout"`
	BusyTimeout         time.Duration `yaml:"busy_timeout"`
	AckTimeout          time.Duration `yaml:"ack_timeout"`
	ExitTimeout         time.Duration `yaml:"exit_timeout"`
	RegistrationTimeout time.Duration `yaml:"registration_timeout"`
	MaxDocumentBytes    int64         `yaml:"max_document_bytes"`
	MaxMessages         int           `yaml:"max_messages"`
	IncludeAllMessages  bool          `yaml:"include_all_messages"`
	MaxContextBytes     int64         `yaml:"max_context_bytes"`
	ValidateContext     bool          `yaml:"validate_context"`
	LogTiming           bool          `yaml:"log_timing"`
	AssemblyTimeout     time.Duration `yaml:"assembly_timeout"`
	Auto                autoSettings  `yaml:"auto"`
}

type autoSettings struct {
	Enabled bool `yaml:"enabled"`
	Warn    int  `yaml:"warn"`
	High    int  `yaml:"high"`
	Trigger int  `yaml:"trigger"`
}

type pipelineSettings struct {
	StepTimeout time.Duration `yaml:"step_timeout"`
	MaxRunning  int           `yaml:"max_running"`
	Cwd         string        `yaml:"cwd"`
}

type notifySettings struct {
	Desktop bool `yaml:"desktop"`
}

// eventsSettings say how long the event log is kept. The value 0 keeps it for ever.
type eventsSettings struct {
	MaxAge  time.Duration `yaml:"max_age"`
	MaxRows int64         `yaml:"max_rows"`
}

// historySettings say how long ended agents, handoffs and pipelines are kept. The value 0 keeps them for ever.
type historySettings struct {
	MaxAge time.Duration `yaml:"max_age"`
}

// DefaultSettings returns the settings that apply without a file.
func DefaultSettings() Settings {
	h := daemon.DefaultHandoff
	return Settings{
		Listen:   "127.0.0.1:7433",
		Runtimes: map[string]RuntimeSettings{"claude": {Command: []string{"claude"}}},
		Handoff: handoffSettings{
			DocumentTimeout: h.DocumentTimeout, BusyTimeout: h.BusyTimeout, AckTimeout: h.AckTimeout,
			ExitTimeout: h.ExitTimeout, RegistrationTimeout: h.RegistrationTimeout, MaxDocumentBytes: h.MaxDocumentBytes,
			MaxMessages: h.MaxMessages, IncludeAllMessages: h.IncludeAllMessages, MaxContextBytes: h.MaxContextBytes,
			ValidateContext: h.ValidateContext, LogTiming: h.LogTiming, AssemblyTimeout: h.AssemblyTimeout,
			Auto: autoSettings(h.Auto),
		},
		Pipeline: pipelineSettings{StepTimeout: 10 * time.Minute, MaxRunning: 4},
		Notify:   notifySettings{Desktop: true},
		Events:   eventsSettings(daemon.DefaultLog),
	}
}

// LoadSettings takes the defaults, overrides them with the file at path, and then with the environment. If the file is
// missing, that is an error only if a person has named the file.
func LoadSettings(path string, named bool, getenv func(string) string) (Settings, error) {
	s := DefaultSettings()
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
	case err != nil:
		return s, fmt.Errorf("settings: %w", err)
	default:
		if err := decodeSettings(b, &s); err != nil {
			return s, fmt.Errorf("settings: %s: %w", path, err)
		}
	}
	if err := fromEnv(reflect.ValueOf(&s).Elem(), "UNDERSTUDY", getenv); err != nil {
		return s, err
	}
	return s, s.check(path)
}

// fromEnv overrides each setting whose variable is set: UNDERSTUDY_LISTEN, UNDERSTUDY_HANDOFF_DOCUMENT_TIMEOUT and so
// on. Only the file can set a map.
func fromEnv(v reflect.Value, prefix string, getenv func(string) string) error {
	for i := range v.NumField() {
		name := prefix + "_" + strings.ToUpper(v.Type().Field(i).Tag.Get("yaml"))
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			if err := fromEnv(f, name, getenv); err != nil {
				return err
			}
			continue
		}
		text := getenv(name)
		if text == "" || f.Kind() == reflect.Map {
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
	h := s.Handoff
	for _, d := range []struct {
		key string
		d   time.Duration
	}{
		{"handoff.document_timeout", h.DocumentTimeout}, {"handoff.busy_timeout", h.BusyTimeout}, {"handoff.ack_timeout", h.AckTimeout},
		{"handoff.exit_timeout", h.ExitTimeout}, {"handoff.registration_timeout", h.RegistrationTimeout},
		{"handoff.assembly_timeout", h.AssemblyTimeout}, {"pipeline.step_timeout", s.Pipeline.StepTimeout},
	} {
		if d.d <= 0 {
			return bad(d.key, "must be a positive duration such as 5m")
		}
	}
	for _, n := range []struct {
		key string
		n   int64
	}{
		{"handoff.max_document_bytes", h.MaxDocumentBytes}, {"handoff.max_messages", int64(h.MaxMessages)},
		{"handoff.max_context_bytes", h.MaxContextBytes}, {"pipeline.max_running", int64(s.Pipeline.MaxRunning)},
	} {
		if n.n <= 0 {
			return bad(n.key, "must be a positive number")
		}
	}
	if d := s.Events.MaxAge; d != 0 && d < time.Hour {
		return bad("events.max_age", "must be at least 1h, or 0s to keep events for ever")
	}
	if d := s.History.MaxAge; d != 0 && d < 24*time.Hour {
		return bad("history.max_age", "must be at least 24h, or 0s to keep history for ever")
	}
	if n := s.Events.MaxRows; n != 0 && n < 1000 {
		return bad("events.max_rows", "must be at least 1000, or 0 to keep all events")
	}
	if cwd := s.Pipeline.Cwd; cwd != "" && !filepath.IsAbs(cwd) {
		return bad("pipeline.cwd", "must be an absolute path")
	}
	for name, r := range s.Runtimes {
		if len(r.Command) == 0 || r.Command[0] == "" {
			return bad("runtimes."+name+".command", "must be an argument list such as [claude]")
		}
	}
	if a := h.Auto; a.Warn < 1 || a.Warn > a.High || a.High > a.Trigger || a.Trigger > 100 {
		return bad("handoff.auto", "must be 1 <= warn <= high <= trigger <= 100")
	}
	return nil
}

// domain returns the settings that package daemon needs.
func (s *Settings) domain() daemon.Settings {
	h := s.Handoff
	out := daemon.Settings{
		Handoff: daemon.HandoffSettings{
			DocumentTimeout: h.DocumentTimeout, BusyTimeout: h.BusyTimeout, AckTimeout: h.AckTimeout,
			ExitTimeout: h.ExitTimeout, RegistrationTimeout: h.RegistrationTimeout, MaxDocumentBytes: h.MaxDocumentBytes,
			MaxMessages: h.MaxMessages, IncludeAllMessages: h.IncludeAllMessages, MaxContextBytes: h.MaxContextBytes,
			ValidateContext: h.ValidateContext, LogTiming: h.LogTiming, AssemblyTimeout: h.AssemblyTimeout,
			Auto: daemon.AutoSettings(h.Auto),
		},
		Pipeline: daemon.PipelineSettings(s.Pipeline),
		Log:      daemon.LogSettings(s.Events),
		History:  daemon.HistorySettings(s.History),
		Notify:   daemon.NotifySettings(s.Notify),
		Runtimes: map[string][]string{},
	}
	for name, r := range s.Runtimes {
		out.Runtimes[name] = r.Command
	}
	return out
}
