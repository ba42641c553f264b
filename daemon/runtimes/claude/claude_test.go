package claude

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

var must, equal = wardentest.Must, wardentest.Equal

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

const (
	testSession = "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a"
	testDir     = "/data/run/launch/7"
)

func testSpec() runtimes.Spec {
	return runtimes.Spec{AgentID: 7, Name: "developer-con-1", SessionID: testSession, Command: []string{"claude"},
		Dir: testDir, SkillText: "You are Con.\n", SettingsJSON: []byte(`{"hooks":{}}`)}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	common := "claude --settings /data/run/launch/7/settings.json --session-id " + testSession +
		" --name developer-con-1 --append-system-prompt-file /data/run/launch/7/system-prompt.md"
	tests := map[string]struct {
		change func(*runtimes.Spec)
		want   string
	}{
		"plain":    {func(*runtimes.Spec) {}, common},
		"model":    {func(s *runtimes.Spec) { s.Model = "opus" }, common + " --model opus"},
		"options":  {func(s *runtimes.Spec) { s.Options = []string{"--model", "sonnet", "--effort", "high"} }, common + " --model sonnet --effort high"},
		"override": {func(s *runtimes.Spec) { s.Options, s.Model = []string{"--model", "sonnet", "--verbose"}, "opus" }, common + " --verbose --model opus"},
		"mode": {func(s *runtimes.Spec) { s.Options, s.Mode = []string{"--dangerously-skip-permissions"}, "default" },
			common + " --permission-mode manual"},
		"many":    {func(s *runtimes.Spec) { s.Options = []string{"--add-dir", "/a", "/b"} }, common + " --add-dir=/a --add-dir=/b"},
		"command": {func(s *runtimes.Spec) { s.Command = []string{"env", "X=1", "claude"} }, "env X=1 " + common},
		"resume": {func(s *runtimes.Spec) { s.Resume, s.SessionID = testSession, "" },
			strings.Replace(common, "--session-id", "--resume", 1)},
		"bare": {func(s *runtimes.Spec) { s.SkillText, s.SettingsJSON, s.Name = " \n", nil, "" }, "claude --session-id " + testSession},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testSpec()
			tt.change(&s)
			l := value(Runtime.Launch(s))(t)
			equal(t, "argv", strings.Join(l.Argv, " "), tt.want)
			equal(t, "session", l.SessionID, testSession)
			for _, f := range l.Files {
				if !slices.Contains(l.Argv, f.Path) || len(f.Content) == 0 {
					t.Errorf("file %s (%d bytes) is not in argv, or empty", f.Path, len(f.Content))
				}
			}
		})
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*runtimes.Spec){
		"no command":               func(s *runtimes.Spec) { s.Command = nil },
		"not absolute":             func(s *runtimes.Spec) { s.Dir = "run" },
		"is not a UUID":            func(s *runtimes.Spec) { s.SessionID = "7" },
		"to resume is not a UUID":  func(s *runtimes.Spec) { s.Resume = "last" },
		"more than one line":       func(s *runtimes.Spec) { s.Name = "a\nb" },
		`permission mode "yolo"`:   func(s *runtimes.Spec) { s.Mode = "yolo" },
		"NUL":                      func(s *runtimes.Spec) { s.Command = []string{"a\x00b"} },
		"launch of agent 7: argum": func(s *runtimes.Spec) { s.Options = []string{"--model", "\x00"} },
	} {
		s := testSpec()
		change(&s)
		wardentest.Failed(Runtime.Launch(s))(t, "refused launch", want)
	}
}

func TestLaunchLeavesTheSpecAlone(t *testing.T) {
	t.Parallel()
	s := testSpec()
	s.Command = append(make([]string, 0, 20), "claude")
	s.Options = []string{"--model", "sonnet", "--verbose"}
	s.Model = "opus"
	for range 2 {
		wardentest.Value(Runtime.Launch(s))(t)
	}
	equal(t, "Launch wrote … behind the command", s.Command[:2:2][1], "")
	equal(t, "options after Launch", strings.Join(s.Options, " "), "--model sonnet --verbose")
}

func TestInheritOptions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"claude":                                "",
		"claude do this":                        "",
		"claude --model opus do":                "--model opus",
		"claude --model=opus":                   "--model opus",
		"claude do --permission-mode plan":      "--permission-mode plan",
		"claude -c -r --verbose":                "--verbose",
		"claude --resume abc --effort high":     "--effort high",
		"claude --resume --effort high":         "--effort high",
		"claude --session-id X --settings Y -n": "",
		"claude --settings {} --append-system-prompt-file f --name n --dangerously-skip-permissions": "--dangerously-skip-permissions",
		"claude --add-dir /a /b --strict-mcp-config --mcp-config m.json n.json -- x --model y":       "--add-dir=/a --add-dir=/b --strict-mcp-config --mcp-config=m.json --mcp-config=n.json",
		"node /usr/lib/cli.js --model opus":     "--model opus",
		"claude --append-system-prompt --model": "", // --model is the value of the first flag
		"claude --no-such-flag value --brief":   "--brief",
		"claude --model":                        "",
		"claude --tools  --ide":                 "--tools= --ide",
	} {
		got := strings.Join(InheritOptions(strings.Split(in, " ")), " ")
		equal(t, in, got, want)
	}
	if got := InheritOptions(nil); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}

// TestInheritOptionsIsStable: each agent of a line inherits the options of the one before, so all have the same.
func TestInheritOptionsIsStable(t *testing.T) {
	t.Parallel()
	s := testSpec()
	s.Options = InheritOptions([]string{"claude", "--add-dir", "/a", "/b", "--model", "opus", "--prompt-suggestions", "--tools", "", "hello"})
	for generation := range 3 {
		l := value(Runtime.Launch(s))(t)
		next := InheritOptions(l.Argv)
		if !slices.Equal(next, s.Options) {
			t.Fatalf("generation %d: %q, before %q", generation, next, s.Options)
		}
	}
}
