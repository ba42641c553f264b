package hooks

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestBrokenHooksAreNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"{}":                      "",
		"{\"model\": \"opus\"}":   "",
		`{"hooks": []}`:           "hooks is not an object",
		`{"hooks": {"Stop": {}}}`: "hooks.Stop is not a list",
		`{"hooks": {"Stop": [{"command": "x"}]}}`: "hooks.Stop[0] has no list hooks",
		`{"hooks": {"Stop": ["x"]}}`:              "hooks.Stop[0] is not an object with matcher and hooks",
		`{"hooks": {"Stop": [{"hooks": []}, {"matcher": 1, "hooks": [{"type": "command", "command": "x"}]}]}}`: "hooks.Stop[1].matcher is not a text",
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}, {"type": "command"}]}]}}`:         "hooks.Stop[0].hooks[1] has no command",
		`{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}`:                                                 "hooks.Stop[0].hooks[0] has no type",
		`{"hooks": {"Stop": [{"hooks": [7]}]}}`:                                                                "hooks.Stop[0].hooks[0] is not an object",
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}}`:              "hooks.Stop[0].hooks[0] has a timeout that is not a number of seconds",
		`{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "x", "timeout": 5}]}]}}`:                  "",
	} {
		for _, text := range []string{text, "\ufeff" + text} {
			equal(t, text, strings.Join(value(Broken([]byte(text)))(t), "; "), want)
		}
	}
}

// TestByteOrderMarkStays: an editor of Windows puts a byte order mark before a file, and the CLI reads past it.
func TestByteOrderMarkStays(t *testing.T) {
	t.Parallel()
	o := InstallOptions{Bin: "/opt/understudy-hook", Events: []string{Stop, SessionStart}}
	for _, text := range []string{"\ufeff{\"model\": \"opus\"}\n", "\ufeff{\r\n  \"model\": \"opus\"\r\n}\r\n", "\ufeff", "\ufeff\n"} {
		in, err := PlanInstall([]byte(text), o)
		if err != nil || !in.Changed || !bytes.HasPrefix(in.After, []byte("\ufeff")) {
			t.Errorf("%q: %q, %v", text, in.After, err)
			continue
		}
		equal(t, fmt.Sprintf("%q", text), value(Status(in.After))(t).Events, o.Events)
		equal(t, text+": a second install changes something", value(PlanInstall(in.After, o))(t).Changed, false)
		equal(t, "after the uninstall", string(value(PlanUninstall(in.After))(t).After), text)
	}
	for _, text := range []string{"\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}"} {
		failed(PlanInstall([]byte(text), o))(t, text, "UTF-16", "iconv")
	}
}
