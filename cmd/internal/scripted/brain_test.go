package scripted

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon/actor"
)

func TestUnderstand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "my data")
	handoffs := filepath.Join(dir, "handoffs")
	if err := os.MkdirAll(handoffs, 0o755); err != nil {
		t.Fatal(err)
	}
	doc, fresh := handoffs+"/20261120T141500-00000007.md", handoffs+"/20261120T151500-00000008.md"
	topics := handoffs + "/20261120T151500-00000008.topics.md"
	context := handoffs + "/20261120T141500-00000007.context.md"
	for _, path := range []string{doc, topics} {
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, row := range map[string]struct {
		prompt string
		want   actor.Assignment
	}{
		"write":          {"Write a handoff document to " + fresh + ".", actor.Assignment{Kind: actor.WriteHandoff, Document: fresh}},
		"write, quoted":  {"Handoff: save it as `" + fresh + "`, please", actor.Assignment{Kind: actor.WriteHandoff, Document: fresh}},
		"write anew":     {"[h 1] Write your handoff for your successor to " + doc + " and stop", actor.Assignment{Kind: actor.WriteHandoff, Document: doc}},
		"write, topics":  {"Read /x/y.md first, then write your handoff to " + fresh, actor.Assignment{Kind: actor.WriteHandoff, Document: fresh}},
		"experience":     {"Write the handoff to " + fresh + "; add to " + dir + "/experience.md what a successor should know", actor.Assignment{Kind: actor.WriteHandoff, Document: fresh}},
		"read":           {"Your predecessor left a handoff document: " + doc + ". Read it and write nothing yet.", actor.Assignment{Kind: actor.TakeOver, Document: doc, Reads: []string{doc}}},
		"read, context":  {"Read " + doc + " and " + context + " and go on. Create what is missing. Handoff.", actor.Assignment{Kind: actor.TakeOver, Document: doc, Reads: []string{doc, context}}},
		"something else": {"Look at /etc/hosts and README.md", actor.Assignment{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := actor.Understand(row.prompt); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got  %+v\nwant %+v", got, row.want)
			}
		})
	}
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	got := (options{}).directives("do @busy 3s and @hold /tmp/x, @background @ask @say # Title\ntext")
	if more := (options{}).directives("@tokens 760000 @compact @edit a.go, @decide Use X: it is there @edit b/c.go @decide No Y\nthen @decide Z"); !reflect.DeepEqual(more, directives{
		tokens: 760000, compact: true, edits: []string{"a.go", "b/c.go"}, decisions: []string{"Use X: it is there", "No Y", "Z"},
	}) {
		t.Errorf("got %+v", more)
	}
	want := directives{busy: 3 * time.Second, hold: "/tmp/x", background: true, ask: true, say: "# Title\ntext"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNextSteps(t *testing.T) {
	t.Parallel()
	document := "# T\n## Next Agent Context\n\nFiles\n\n**Next steps:**\n\n1. one\n2. two\n\n## More\n- no\n"
	if got := actor.NextSteps(document); !reflect.DeepEqual(got, []string{"one", "two"}) {
		t.Errorf("got %q", got)
	}
}

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
		if got := s.mayEdit(row.mode, "/project", row.path); got != row.want {
			t.Errorf("%s %s: %d, want %d", row.mode, row.path, got, row.want)
		}
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
		if _, err := parseOptions(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	got, err := parseOptions([]string{"--name=n", "--permission-mode", "manual", "--", "-prompt"})
	if err != nil || got.name != "n" || got.permissionMode != "default" || got.prompt != "-prompt" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestConfigDir(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]environment{
		"/c":           {"CLAUDE_CONFIG_DIR=/c", "HOME=/h", "TMPDIR=/t"},
		"/h/.claude":   {"HOME=/h", "TMPDIR=/t"},
		"/t/.claude":   {"HOME=", "TMPDIR=/t"},
		"/new/.claude": {"HOME=/old", "HOME=/new"},
	} {
		if got := configDir(env); got != want {
			t.Errorf("%q: %s, want %s", env, got, want)
		}
	}
}
