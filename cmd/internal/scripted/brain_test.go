package scripted

import (
	"fmt"
	"testing"
)

func TestMayEdit(t *testing.T) {
	t.Parallel()
	var s settings
	s.Permissions.Allow = []string{"Edit(//data/personas/p/handoffs/**)", "Edit(/slash/**)", "Edit(//data/personas/p/experience.md)"}
	for _, row := range []struct {
		mode, path string
		want       permission
	}{
		{"acceptEdits", "/project/a", allowed},
		{"acceptEdits", "/projects/a", mustAsk},
		{"acceptEdits", "/data/personas/p/handoffs/x.md", allowed},
		{"default", "/data/personas/p/experience.md", allowed},
		{"default", "/data/personas/p/skill.md", mustAsk},
		{"default", "/slash/x", mustAsk},
		{"default", "/project/a", mustAsk},
		{"dontAsk", "/data/x", denied},
		{"plan", "/data/personas/p/handoffs/x.md", mustAsk},
		{"auto", "/anywhere", allowed},
	} {
		equal(t, row.mode+" "+row.path, s.mayEdit(row.mode, "/project", row.path), row.want)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"unknown option '--frobnicate'": {"--frobnicate"},
		"argument missing":              {"--name"},
		"must be a valid UUID":          {"--session-id", "seven"},
		"is invalid":                    {"--permission-mode", "yolo"},
		"not found":                     {"--append-system-prompt-file", "/nowhere"},
	} {
		failed(parseOptions(args))(t, fmt.Sprintf("%q", args), want)
	}
	got, err := parseOptions([]string{"--name=n", "--permission-mode", "manual", "--", "-prompt"})
	if err != nil || got.Name != "n" || got.permissionMode != "default" || got.Prompt != "-prompt" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestConfigDir(t *testing.T) {
	t.Parallel()
	for want, env := range map[string][]string{
		"/c":           {"CLAUDE_CONFIG_DIR=/c", "HOME=/h", "TMPDIR=/t"},
		"/h/.claude":   {"HOME=/h", "TMPDIR=/t"},
		"/t/.claude":   {"HOME=", "TMPDIR=/t"},
		"/new/.claude": {"HOME=/old", "HOME=/new"},
	} {
		equal(t, fmt.Sprintf("%q", env), configDir(env), want)
	}
}
