package serve

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
)

// TestSettingsFileMistakes: a mistake is named by its line and key, with an example and without Go's words.
func TestSettingsFileMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"handoff:\n  ack_timeout: soon":            `line 2: handoff.ack_timeout: "soon" is not a duration such as 30s`,
		"handoff:\n  ack_timeout: 30":              `line 2: handoff.ack_timeout: "30" is not a duration such as 30s`,
		"handoff:\n  ack_timeout: 0":               `line 2: handoff.ack_timeout: "0" is not a duration such as 30s`,
		"handoff:\n  ack_timeout: [1s]":            `line 2: handoff.ack_timeout: must be a duration such as 30s`,
		"handoff:\n  ack_timeot: 1s":               `line 2: unknown key handoff.ack_timeot`,
		"handoff: 5":                               `line 1: handoff: must be lines of key: value, indented below it`,
		"handoff: {auto: {warn: much}}":            `line 1: handoff.auto.warn: "much" is not a whole number such as 60`,
		"handoff: {log_timing: perhaps}":           `line 1: handoff.log_timing: "perhaps" is not true or false`,
		"events: {max_age: week}":                  `line 1: events.max_age: "week" is not a duration such as 30s`,
		"notify: {desktop: 1}":                     `line 1: notify.desktop: "1" is not true or false`,
		"runtimes: {claude: {command: claude -v}}": `line 1: runtimes.claude.command: must be a list such as [claude]`,
		"runtimes: {claude: {command: [[a]]}}":     `line 1: runtimes.claude.command[0]: must be a text`,
		"runtimes: {claude: [claude]}":             `line 1: runtimes.claude: must be lines of key: value, indented below it`,
		"just words":                               `line 1: the file: must be lines of key: value`,
		"listen: none\nlisten: none":               `line 2: the file: has the key listen twice: remove one of them`,
		"listen: [":                                `line 1: not YAML (did not find expected node content): check the indentation, and put quotes around text that contains a colon`,
	} {
		s := DefaultSettings()
		if err := decodeSettings([]byte(text), &s); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestSettingsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for _, text := range []string{"", "# nothing yet\n", "---\n", "listen:\nhandoff:\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadSettings(path, true, cmdtest.NoEnv); err != nil || s.Handoff.AckTimeout != DefaultSettings().Handoff.AckTimeout {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	text := "handoff:\n  ack_timeout: 7s\n  max_document_bytes: 1_000\nruntimes:\n  claude:\n    command: [claude, 2]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := LoadSettings(path, true, cmdtest.NoEnv)
	if err != nil || s.Handoff.AckTimeout != 7*time.Second || s.Handoff.MaxDocumentBytes != 1000 || len(s.Runtimes["claude"].Command) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Handoff.ExitTimeout != DefaultSettings().Handoff.ExitTimeout {
		t.Errorf("exit_timeout %s: want the default", s.Handoff.ExitTimeout)
	}
}

// TestSettingsDomain: every setting of a handoff reaches the domain, and its default comes from there.
func TestSettingsDomain(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	if got := s.domain().Handoff; got != daemon.DefaultHandoff {
		t.Errorf("defaults %+v\nwant     %+v", got, daemon.DefaultHandoff)
	}
	text := `
handoff:
  document_timeout: 1s
  busy_timeout: 2s
  ack_timeout: 3s
  exit_timeout: 4s
  registration_timeout: 5s
  max_document_bytes: 6
  max_messages: 7
  include_all_messages: true
  max_context_bytes: 8
  validate_context: false
  log_timing: false
  assembly_timeout: 9s
  auto: {enabled: true, warn: 10, high: 11, trigger: 12}
`
	if err := decodeSettings([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	want := daemon.HandoffSettings{
		DocumentTimeout: time.Second, BusyTimeout: 2 * time.Second, AckTimeout: 3 * time.Second, ExitTimeout: 4 * time.Second,
		RegistrationTimeout: 5 * time.Second, MaxDocumentBytes: 6, MaxMessages: 7, IncludeAllMessages: true, MaxContextBytes: 8,
		AssemblyTimeout: 9 * time.Second, Auto: daemon.AutoSettings{Enabled: true, Warn: 10, High: 11, Trigger: 12},
	}
	if got := s.domain().Handoff; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	unset := DefaultSettings()
	if err := fromEnv(reflect.ValueOf(&unset).Elem(), "UNDERSTUDY", func(name string) string {
		return map[string]string{"UNDERSTUDY_HANDOFF_AUTO_ENABLED": "true", "UNDERSTUDY_HANDOFF_AUTO_TRIGGER": "80"}[name]
	}); err != nil {
		t.Fatal(err)
	}
	if got := unset.domain().Handoff.Auto; !got.Enabled || got.Trigger != 80 || got.Warn != 60 {
		t.Errorf("by the environment: %+v", got)
	}
}

func TestSettingsOfTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, ok := range map[string]bool{
		"events: {max_age: 0s, max_rows: 0}": true, "events: {max_age: 0}": false, "events: {max_age: 1h, max_rows: 1000}": true,
		"events: {max_age: 59m}": false, "events: {max_age: -1h}": false, "events: {max_rows: 999}": false, "events: {max_rows: -1}": false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSettings(path, true, cmdtest.NoEnv); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "events.max_") {
			t.Errorf("%s: %v", text, err)
		}
	}
	env := map[string]string{"UNDERSTUDY_EVENTS_MAX_AGE": "48h", "UNDERSTUDY_EVENTS_MAX_ROWS": "5000"}
	s, err := LoadSettings("", false, func(name string) string { return env[name] })
	if got := s.domain().Log; err != nil || got.MaxAge != 48*time.Hour || got.MaxRows != 5000 {
		t.Errorf("%+v, %v", got, err)
	}
}
