package hooks

import (
	"os/exec"
	"strings"
	"testing"
)

func TestLaunchSettings(t *testing.T) {
	t.Parallel()
	allow := []string{"Edit(//data/personas/developer-con-1/handoffs/**)", "Edit(//data/personas/developer-con-1/experience.md)"}
	text := value(LaunchSettings("/opt/it's here/understudy", []string{SessionStart, SessionEnd}, allow))(t)
	golden(t, "testdata/launch.golden", text)
}

func TestLaunchSettingsRefuses(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func() ([]byte, error){
		"relative binary": func() ([]byte, error) { return LaunchSettings("understudy", []string{Stop}, nil) },
		"bad UTF-8":       func() ([]byte, error) { return LaunchSettings("/\xff", []string{Stop}, nil) },
		"line feed":       func() ([]byte, error) { return LaunchSettings("/a\nb", []string{Stop}, nil) },
		"event":           func() ([]byte, error) { return LaunchSettings("/u", []string{"stop"}, nil) },
		"empty rule":      func() ([]byte, error) { return LaunchSettings("/u", []string{Stop}, []string{" "}) },
	} {
		failed(f())(t, name+": accepted")
	}
}

// TestShellWord makes a real sh read the words back.
func TestShellWord(t *testing.T) {
	t.Parallel()
	var line strings.Builder
	want := []string{"/usr/bin/understudy", "", "a b", "it's", `$HOME "x" \y`, "`id`;&|<>", "*?[a]~#", "-n", "ö\ttab", "a='b'"}
	for _, word := range want {
		line.WriteString(" " + shellWord(word))
	}
	out := value(exec.CommandContext(t.Context(), "sh", "-c", "for w in"+line.String()+`; do printf '%s\0' "$w"; done`).Output())(t)
	equal(t, "sh read", strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), want)
	equal(t, "shellWords", value(shellWords(line.String()))(t), want)
	failed(shellWords("a 'b"))(t, "an open quote is accepted")
}
