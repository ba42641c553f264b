package personas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const slug = "developer-con-1"

const plain = "---\nname: con\ndescription: Writes code.\n---\n\nDo it.\n"

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Persona
	}{
		{"plain", plain, Persona{Description: "Writes code.", Skill: "Do it.\n"}},
		{"all keys", "---\nname: con\ndescription: d\nruntime: claude\nmodel: claude-x-1[1m]\n---\nDo it.", Persona{Description: "d", Runtime: "claude", Model: "claude-x-1[1m]", Skill: "Do it."}},
		{"limits", "---\nname: con\ndescription: d\non_limit: hand_over\nfallback: [codex, claude-work]\n---\nx", Persona{Description: "d", OnLimit: "hand_over", Fallback: "codex,claude-work", Skill: "x"}},
		{"automatic", "---\nname: con\ndescription: d\nauto: on\n---\nx", Persona{Description: "d", Auto: "on", Skill: "x"}},
		{"not automatic", "---\nname: con\ndescription: d\nauto: false\n---\nx", Persona{Description: "d", Auto: "off", Skill: "x"}},
		{"notifies", "---\nname: con\ndescription: d\nnotify_finished: on\n---\nx", Persona{Description: "d", NotifyFinished: "on", Skill: "x"}},
		{"in a sandbox", "---\nname: con\ndescription: d\nsandbox: on\n---\nx", Persona{Description: "d", Sandbox: true, Skill: "x"}},
		{"notifies not", "---\nname: con\ndescription: d\nnotify_finished: false\n---\nx", Persona{Description: "d", NotifyFinished: "off", Skill: "x"}},
		{"automatic, late", "---\nname: con\ndescription: d\nauto: 85 %\n---\nx", Persona{Description: "d", Auto: "85", Skill: "x"}},
		{"empty limits", "---\nname: con\ndescription: d\non_limit:\nfallback: []\n---\nx", Persona{Description: "d", Skill: "x"}},
		{"foreign keys", "---\nname: con\ntools: [Read, Bash]\ncolor: {a: [1]}\ndescription: d\n---\nx", Persona{Description: "d", Skill: "x"}},
		{"inherited model", "---\nname: con\ndescription: d\nmodel: inherit\n---\nx", Persona{Description: "d", Skill: "x"}},
		{"key without value", "---\nname: con\ndescription: d\nmodel:\n---\nx", Persona{Description: "d", Skill: "x"}},
		{"CRLF", "---\r\nname: con\r\ndescription: d\r\n---\r\n\r\nx\r\n", Persona{Description: "d", Skill: "x\r\n"}},
		{"byte order mark", "\ufeff" + plain, Persona{Description: "Writes code.", Skill: "Do it.\n"}},
		{"blanks after the fence", "--- \nname: con\ndescription: d\n---\t\nx", Persona{Description: "d", Skill: "x"}},
		{"rule in the body", "---\nname: con\ndescription: d\n---\nx\n---\ny\n", Persona{Description: "d", Skill: "x\n---\ny\n"}},
		{"folded text", "---\nname: con\ndescription: >\n  a\n  b\n---\nx", Persona{Description: "a b", Skill: "x"}},
		{"quoted", "---\nname: \"1\"\ndescription: 'a: b'\n---\nx", Persona{Description: "a: b", Skill: "x"}},
	}
	for _, test := range tests {
		got, err := Parse(slug, []byte(test.in))
		want := test.want
		want.Slug, want.Role, want.Name, want.N, want.SkillFile = slug, "developer", "con", 1, test.in
		must(t, err)
		equal(t, test.name, got, want)
	}
}

// TestParseReadsWhatTheCLIReads: a file of an agent of Claude Code, whose description is not YAML.
func TestParseReadsWhatTheCLIReads(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll("---\nname: failure-hunter\ndescription: Use this. Examples: Context: the import fails. user: \"check it\"\nmodel: inherit\n---\nYou look for errors.\n\n---\n\nThat nobody sees.\n", "\n", end)
		p, err := Parse(slug, []byte("\ufeff"+text))
		if err != nil || p.Description != `Use this. Examples: Context: the import fails. user: "check it"` || p.Model != "" || !strings.Contains(p.Skill, "---") {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		line     int
		want     string
	}{
		{"empty", "", 1, "missing"},
		{"no front matter", "# Skill\n", 1, "missing"},
		{"blank line first", "\n" + plain, 1, "missing"},
		{"no end", "---\nname: con\ndescription: d\n", 1, "no end"},
		{"fence only", "---", 1, "no end"},
		{"indented end", "---\nname: con\n ---\n", 1, "no end"},
		{"nothing inside", "---\n---\nx", 2, "key: value"},
		{"a sandbox at times", "---\nname: con\ndescription: d\nsandbox: 3\n---\nx", 4, "sandbox must be on or off"},
		{"notifies sometimes", "---\nname: con\ndescription: d\nnotify_finished: 3\n---\nx", 4, "notify_finished must be on or off"},
		{"auto beyond the window", "---\nname: con\ndescription: d\nauto: 101\n---\nx", 4, "auto must be on, off"},
		{"a list", "---\n- name\n---\nx", 2, "key: value"},
		{"unknown action", "---\nname: con\ndescription: d\non_limit: wiat\n---\nx", 4, "wait, hand_over, ask"},
		{"fallback is no list", "---\nname: con\ndescription: d\nfallback: codex\n---\nx", 4, "must be a list such as [codex, opencode]"},
		{"fallback is no word", "---\nname: con\ndescription: d\nfallback: [a b]\n---\nx", 4, "each one word"},
		{"fallback twice", "---\nname: con\ndescription: d\nfallback: [codex, codex]\n---\nx", 4, "twice"},
		{"no name", "---\ndescription: d\n---\nx", 1, "no name"},
		{"no description", "---\nname: con\n---\nx", 1, "no description"},
		{"blank description", "---\nname: con\ndescription: ' '\n---\nx", 1, "no description"},
		{"number", "---\nname: 1\ndescription: d\n---\nx", 2, "name must be text"},
		{"twice", "---\nname: con\ndescription: d\nname: ada\n---\nx", 4, "twice"},
		{"not YAML", "---\nname: con\ndescription: use: it\nmodel\n---\nx", 3, "not YAML (mapping values"},
		{"model as a flag", "---\nname: con\ndescription: d\nmodel: --dangerously\n---\nx", 4, "one word"},
		{"runtime with NUL", "---\nname: con\ndescription: d\nruntime: \"a\\0\"\n---\nx", 4, "control"},
		{"escape in the description", "---\nname: con\ndescription: \"a\\e[2J\"\n---\nx", 3, "control"},
		{"no body", "---\nname: con\ndescription: d\n---\n \n\n", 0, "no text"},
		{"too large", plain + strings.Repeat("x", maxFile), 0, "limit"},
	}
	for _, test := range tests {
		_, err := Parse(slug, []byte(test.in))
		var parseErr *ParseError
		if !errors.As(err, &parseErr) {
			t.Errorf("%s: error %v", test.name, err)
			continue
		}
		if parseErr.Line != test.line || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: line %d: %v; want line %d and %q", test.name, parseErr.Line, err, test.line, test.want)
		}
	}
	failed(Parse("../x-y-1", []byte(plain)))(t, "a bad slug was accepted")
	fits := plain + strings.Repeat("x", maxFile-len(plain))
	value(Parse(slug, []byte(fits)))(t)
}

// TestParseShipped: the shipped personas must be usable.
func TestParseShipped(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../data/personas/*/skill.md")
	if err != nil || len(files) < 3 {
		t.Fatalf("shipped personas: %q, %v", files, err)
	}
	for _, file := range files {
		b := value(os.ReadFile(file))(t)
		if _, err := Parse(filepath.Base(filepath.Dir(file)), b); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{plain, "", "---\n---\n", "---\nname: &a [*a]\n---\nx", "---\r\nname: x\r\ndescription: |\r\n  y\r\n---\r\nz", "---\n<<: {name: x}\n? [a]\n: b\n---\nx", "---\nname: !!binary aGk=\ndescription: d\n---\nx"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := Parse(slug, in)
		if err != nil {
			var parseErr *ParseError
			if !errors.As(err, &parseErr) || parseErr.Line < 0 || parseErr.Line > strings.Count(string(in), "\n")+2 {
				t.Fatalf("error %v", err)
			}
			return
		}
		if p.SkillFile != string(in) || !utf8.Valid(in) {
			t.Fatal("the text was changed")
		}
		if !strings.HasSuffix(string(in), p.Skill) || strings.TrimSpace(p.Skill) == "" {
			t.Fatalf("skill is %q", p.Skill)
		}
		if p.Description == "" || strings.HasPrefix(p.Model, "-") || strings.ContainsAny(p.Model+p.Runtime, " \n\x00") {
			t.Fatalf("got %+v", p)
		}
	})
}
