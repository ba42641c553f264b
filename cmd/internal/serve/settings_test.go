package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
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
		must(t, os.WriteFile(path, []byte(text), 0o600))
		equal(t, fmt.Sprintf("%q", text), wardentest.Value(LoadSettings(path, true, cmdtest.NoEnv))(t).Handoff.AckTimeout, DefaultSettings().Handoff.AckTimeout)
	}
	text := "handoff:\n  ack_timeout: 7s\n  max_document_bytes: 1_000\nruntimes:\n  claude:\n    command: [claude, 2]\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := LoadSettings(path, true, cmdtest.NoEnv)
	if err != nil || s.Handoff.AckTimeout != 7*time.Second || s.Handoff.MaxDocumentBytes != 1000 || len(s.Runtimes["claude"].Command) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	equal(t, "exit_timeout …: want the default", s.Handoff.ExitTimeout, DefaultSettings().Handoff.ExitTimeout)
}

// TestSettingsDomain: every setting of a handoff reaches the domain, and its default comes from there.
func TestSettingsDomain(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	equal(t, "defaults", s.domain().Handoff, daemon.DefaultHandoff)
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
  in_place: true
  targets: [reviewer-max-1, "*"]
  background: wait
  secrets: refuse
  auto: {enabled: true, warn: 10, high: 11, trigger: 12}
`
	must(t, decodeSettings([]byte(text), &s))
	want := daemon.HandoffSettings{
		DocumentTimeout: time.Second, BusyTimeout: 2 * time.Second, AckTimeout: 3 * time.Second, ExitTimeout: 4 * time.Second,
		RegistrationTimeout: 5 * time.Second, MaxDocumentBytes: 6, MinWords: daemon.DefaultHandoff.MinWords, MaxMessages: 7, IncludeAllMessages: true, MaxContextBytes: 8,
		AssemblyTimeout: 9 * time.Second, InPlace: true, Targets: []string{"reviewer-max-1", "*"}, Background: daemon.BackgroundWait, Secrets: daemon.SecretsRefuse, Auto: daemon.AutoSettings{Enabled: true, Warn: 10, High: 11, Trigger: 12},
	}
	equal(t, "s.domain().Handoff", s.domain().Handoff, want)
	unset := DefaultSettings()
	if err := fromEnv(reflect.ValueOf(&unset).Elem(), "UNDERSTUDY", func(name string) string {
		return map[string]string{"UNDERSTUDY_HANDOFF_AUTO_ENABLED": "true", "UNDERSTUDY_HANDOFF_AUTO_TRIGGER": "80", "UNDERSTUDY_HANDOFF_TARGETS": "a-b-1, *"}[name]
	}); err != nil {
		t.Fatal(err)
	}
	if got := unset.domain().Handoff.Auto; !got.Enabled || got.Trigger != 80 || got.Warn != 60 {
		t.Errorf("by the environment: %+v", got)
	}
	equal(t, "targets by the environment", unset.domain().Handoff.Targets, []string{"a-b-1", "*"})
	for policy, ok := range map[daemon.SecretsPolicy]bool{"warn": true, "refuse": true, "off": true, "": false, "false": false} {
		unset.Handoff.Secrets = policy
		equal(t, fmt.Sprintf("handoff.secrets %q: taken", policy), unset.check("config.yaml") == nil, ok)
	}
	unset.Handoff.Secrets = daemon.SecretsWarn
	unset.Handoff.Targets = []string{"reviewer"}
	wantErr(t, "a target without a name", unset.check("config.yaml"), "handoff.targets")
}

// TestSettingsArePositive: a time or a number that is not positive is refused by its key.
func TestSettingsArePositive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string][2]string{
		"handoff: {busy_timeout: 0s}": {"handoff.busy_timeout", "duration"}, "handoff: {max_messages: -1}": {"handoff.max_messages", "number"},
		"pipeline: {step_timeout: -1s}": {"pipeline.step_timeout", "duration"}, "pipeline: {max_running: 0}": {"pipeline.max_running", "number"},
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := LoadSettings(path, true, cmdtest.NoEnv)
		wantErr(t, text, err, want[0]+" (", "must be a positive "+want[1])
	}
}

func TestSettingsOfTheLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, ok := range map[string]bool{
		"events: {max_age: 0s}": true, "events: {max_age: 0}": false, "events: {max_age: 1h}": true,
		"events: {max_age: 59m}": false, "events: {max_age: -1h}": false,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := LoadSettings(path, true, cmdtest.NoEnv); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "events.max_") {
			t.Errorf("%s: %v", text, err)
		}
	}
	env := map[string]string{"UNDERSTUDY_EVENTS_MAX_AGE": "48h"}
	s, err := LoadSettings("", false, func(name string) string { return env[name] })
	if got := s.domain().Log; err != nil || got.MaxAge != 48*time.Hour || got.MaxRows != 1_000_000 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRemovedSettings: settings that no longer exist are ignored, and each is named with what it is fixed at.
func TestRemovedSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := "events: {max_rows: 7}\nhandoff: {min_words: 3, ack_timeout: 7s}\nlimits:\n  max_waits: many\n  api_timeout: 1m\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := LoadSettings(path, true, func(name string) string {
		return map[string]string{"UNDERSTUDY_LIMITS_MAX_WAITS": "5"}[name]
	})
	want := DefaultSettings()
	want.Handoff.AckTimeout = 7 * time.Second
	const gone = " is no longer a setting, and what it says is ignored: it is fixed at "
	want.Removed = append(want.Removed, "events.max_rows"+gone+"1000000", "handoff.min_words"+gone+"15", "limits.api_timeout"+gone+"10m",
		"limits.max_waits"+gone+"3", "UNDERSTUDY_LIMITS_MAX_WAITS"+gone+"3")
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, s, want)
	}
	d := s.domain()
	fixed := map[string]string{
		"events.max_rows": fmt.Sprint(d.Log.MaxRows), "handoff.min_words": fmt.Sprint(d.Handoff.MinWords),
		"limits.api_timeout": strings.TrimSuffix(d.Limits.APITimeout.String(), "0s"), "limits.max_waits": fmt.Sprint(d.Limits.MaxWaits),
	}
	equal(t, "fixed, as operators are told", fixed, removed)
	if changes := differences(&want, &s); len(changes) > 0 {
		t.Errorf("a reload names %v", changes)
	}
}

// TestSettingsOfAGenericRuntime: a CLI that nobody knows needs to say when it takes a prompt; a CLI that we know must not.
func TestSettingsOfAGenericRuntime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string]string{
		"runtimes: {aider: {command: [aider], ready: '^> ', exit: /exit, quiet_after: 5s}}": "",
		"runtimes: {aider: {command: [aider]}}":                                             "runtimes.aider.ready",
		"runtimes: {aider: {command: [aider], ready: '('}}":                                 "runtimes.aider.ready",
		"runtimes: {aider: {command: [aider], ready: '>', quiet_after: 5ms}}":               "runtimes.aider.quiet_after",
		"runtimes: {claude: {command: [claude], ready: '>'}}":                               "runtimes.claude",
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		s, err := LoadSettings(path, true, cmdtest.NoEnv)
		if want == "" {
			if rt := s.domain().Generic["aider"]; err != nil || rt == nil || rt.Can.QuietAfter != 5*time.Second || rt.Can.ExitText != "/exit" {
				t.Errorf("%s: %+v, %v", text, rt, err)
			}
			continue
		}
		wantErr(t, text, err, want)
	}
}

func TestSettingsOfLimits(t *testing.T) {
	t.Parallel()
	const work = "runtimes: {claude: {command: [claude]}, claude-work: {command: [claude]}}\n"
	path := filepath.Join(t.TempDir(), "config.yaml")
	for text, why := range map[string]string{
		"limits: {on_limit: wait}":                                      "",
		work + "limits: {on_limit: hand_over, fallback: [claude-work]}": "",
		"limits: {on_limit: wiat}":                                      "limits.on_limit",
		"limits: {on_limit: hand_over}":                                 "limits.fallback must name",
		"limits: {fallback: [emacs]}":                                   "unknown runtime",
		"limits: {fallback: [claude-work]}":                             "set runtimes.claude-work.command",
		work + "limits: {fallback: [claude-work, claude-work]}":         "twice",
		"limits: {fallback: claude}":                                    "must be a list",
		"limits: {on_limits: wait}":                                     "unknown key limits.on_limits",
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := LoadSettings(path, true, cmdtest.NoEnv); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	env := map[string]string{"UNDERSTUDY_LIMITS_ON_LIMIT": "wait", "UNDERSTUDY_LIMITS_FALLBACK": "claude"}
	s, err := LoadSettings("", false, func(name string) string { return env[name] })
	if got := s.domain().Limits; err != nil || got.OnLimit != daemon.LimitWait || got.APITimeout != 10*time.Minute || got.MaxWaits != 3 || len(got.Fallback) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	unset := DefaultSettings()
	if got := unset.domain().Limits; got.OnLimit != daemon.LimitAsk || got.APITimeout != 10*time.Minute {
		t.Errorf("defaults %+v", got)
	}
}

func TestSettingsOfTargets(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "config.yaml")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), mode))
	}
	target := func(text string) string { return "notify: {targets: {phone: {" + text + "}}}" }
	for text, why := range map[string]string{
		target("type: ntfy, url: https://ntfy.sh/topic, levels: [error, waiting], types: [handoff_*, agent_stuck], include_text: true"): "",
		target("type: webhook, url_file: hook"):                                     "",
		target("type: command, command: [notify-me]"):                               "",
		target("type: pigeon"):                                                      "notify.targets.phone.type",
		target("type: ntfy"):                                                        "notify.targets.phone.url",
		target("type: ntfy, url: ftp://x/y"):                                        "https://",
		target("type: ntfy, url: 'https://me:hush@x/y'"):                            "token_file",
		target("type: webhook, url: https://hooks.slack.com/services/x"):            "mode 0600",
		target("type: command, command: [x], url: https://x"):                       "takes no url",
		target("type: ntfy, url: https://x/y, command: [x]"):                        "targets of type command",
		target("type: ntfy, url: https://x/y, levels: [panic]"):                     "none of error, waiting, completed",
		target("type: ntfy, url: https://x/y, types: [agent_stack]"):                "no type of an event",
		target("type: ntfy, url: https://x/y, level: [error]"):                      "unknown key notify.targets.phone.level",
		"notify: {targets: {My Phone: {type: command, command: [x]}}}":              "small letters",
		"host_names: [desk.example, 192.168.1.5]\npublic_url: https://desk.example": "",
		"host_names: ['https://desk.example']":                                      "host_names",
		"host_names: ['desk.example:443']":                                          "host_names",
		"host_names: ['*']":                                                         "host_names",
		"public_url: desk.example":                                                  "public_url",
		"public_url: https://desk.example/understudy":                               "public_url",
	} {
		write("config.yaml", text, 0o600)
		if _, err := LoadSettings(path, true, cmdtest.NoEnv); (err == nil) != (why == "") || err != nil && (!strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	write("hook", "https://hooks.slack.com/services/hush\n", 0o600)
	write("config.yaml", target("type: webhook, url_file: hook"), 0o600)
	s := wardentest.Value(LoadSettings(path, true, cmdtest.NoEnv))(t)
	if routes, err := s.Notify.routes(root, nil); err != nil || len(routes) != 1 || routes[0].Name != "phone" || routes[0].Kind != "webhook" {
		t.Errorf("%+v, %v", routes, err)
	}
	must(t, os.Chmod(filepath.Join(root, "hook"), 0o644))
	wardentest.Failed(s.Notify.routes(root, nil))(t, "a secret that others can read", "notify.targets.phone.url_file", "chmod 600")
	equal(t, "names", (&Settings{HostNames: []string{"a"}, PublicURL: "https://desk.example:8443"}).names(), []string{"a", "desk.example"})
}
