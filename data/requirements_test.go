package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// shippedOnes returns the requirements that we ship.
func shippedOnes(t *testing.T) Requirements {
	t.Helper()
	return value(ParseRequirements(shippedRequirements))(t)
}

func TestShippedRequirements(t *testing.T) {
	t.Parallel()
	r := shippedOnes(t)
	for role, want := range map[string]string{
		"analyst":   "seed_input clarifications",
		"pm":        "requirements analyst_decisions",
		"architect": "stories pm_decisions tech_constraints",
		"dev":       "current_story architecture_decisions code_patterns",
		"tea":       "implementation test_requirements coverage_config",
		"sm":        "all_decisions health_status sprint_progress",
		"reviewer":  "",
		"":          "",
		// Aliases, in different spellings.
		"developer":       "current_story architecture_decisions code_patterns",
		" Test_Architect": "implementation test_requirements coverage_config",
		"QA":              "implementation test_requirements coverage_config",
	} {
		equal(t, role+" requires", strings.Join(r.Of(role), " "), want)
	}
	equal(t, "roles", len(r.Roles), 6)
	for requirement := range r.Files {
		if !slices.ContainsFunc(mapValues(r.Roles), func(list []string) bool { return slices.Contains(list, requirement) }) {
			t.Errorf("nobody requires %s", requirement)
		}
	}
	r.Of("dev")[0] = "x"
	if r.Of("dev")[0] == "x" {
		t.Error("a caller can change the requirements")
	}
}

func mapValues(m map[string][]string) (all [][]string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func TestDecisionsOf(t *testing.T) {
	t.Parallel()
	r := shippedOnes(t)
	for in, want := range map[string]string{
		"pm_decisions": "pm true", "architecture_decisions": "architect true", "all_decisions": " true", "analyst_decisions": "analyst true",
		"reviewer_decisions": "reviewer true", "developer_decisions": "dev true",
		"decisions": " false", "_decisions": " false", "stories": " false", "decisions_made": " false",
	} {
		role, ok := r.DecisionsOf(in)
		equal(t, in, fmt.Sprint(role, " ", ok), want)
	}
}

func TestParseRequirements(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "# nothing\n", "roles:\naliases:\nfiles:\n", "---\nroles: {}\n"} {
		if r, err := ParseRequirements([]byte(in)); err != nil || len(r.Roles)+len(r.Aliases)+len(r.Files) != 0 {
			t.Errorf("%q gives %+v, %v", in, r, err)
		}
	}
	r, err := ParseRequirements([]byte("aliases: {b: a}\nroles: {a: [x, x, y_2], c: }\nfiles: {x: [./d/*.md, e]}"))
	if err != nil || !slices.Equal(r.Of("b"), []string{"x", "y_2"}) || r.Roles["c"] == nil || !slices.Equal(r.Files["x"], []string{"d/*.md", "e"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	for in, want := range map[string]string{
		"\nrole: {}":                       "line 2: role: unknown key",
		"- a":                              "line 1: the file: must be lines",
		"roles:\n  - a":                    "line 2: roles: must be lines",
		"roles:\n  a: b":                   "line 2: roles.a: must be a list",
		"roles:\n  a: [[b]]":               "line 2: roles.a: each item",
		"roles:\n  a:\n    - b\n    - B c": `line 4: roles.a: "B c" is not a requirement`,
		"roles:\n  A: [b]":                 "line 2: roles.A: a role is",
		"roles:\n  a: [b]\n  a: [c]":       "line 3: roles: has the key a twice: remove one of them",
		"roles: {a: []}\naliases:\n  b: c": `line 3: aliases.b: there is no role "c"`,
		"roles: {a: []}\naliases:\n  a: a": "line 3: aliases.a: is a role itself",
		"aliases:\n  b: [a]":               "line 2: aliases.b: must be the name",
		"files:\n  x: [/etc/passwd]":       `line 2: files.x: "/etc/passwd" leads out`,
		"files:\n  x: [a/../../b]":         "leads out",
		"files:\n  x: [a/../b]":            "leads out",
		"files:\n  x: [~/b]":               "leads out",
		"files:\n  x:\n  - a\n  - '[b'":    `line 4: files.x: "[b" is malformed`,
		"files:\n  x: ['[a/b]']":           "is malformed",
		"files:\n  x: ['a\\b']":            "is malformed",
		"files:\n  x: ['']":                "names no file",
		"files:\n  x: [docs/**/a.md]":      "has **",
		"files:\n  X: [a]":                 "line 2: files.X: a requirement is",
		"roles:\n  a:\n    - b\n   - c":    "line 4: not YAML", // the parser itself names line 1
		"roles: {[a]: []}":                 "line 1: roles: a key must be a word",
	} {
		r, err := ParseRequirements([]byte(in))
		wantErr(t, in, err, want)
		equal(t, fmt.Sprintf("%q: roles", in), len(r.Roles), 0)
	}
}

func TestReadRequirements(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "requirements.yaml")
	equal(t, "without a file", len(value(ReadRequirements(path))(t).Of("dev")), 3)
	write(t, path, "roles:\n  dev: [x]\n")
	if r, err := ReadRequirements(path); err != nil || !slices.Equal(r.Of("dev"), []string{"x"}) || r.Canonical("developer") != "developer" {
		t.Errorf("own: %+v, %v", r, err)
	}
	for _, broken := range []string{"roles:\n  dev: x\n", "roles: [", strings.Repeat("#", maxRequirements+1)} {
		write(t, path, broken)
		if r, err := ReadRequirements(path); err == nil || !strings.Contains(err.Error(), path) || len(r.Of("dev")) != 3 {
			t.Errorf("broken: %+v, %v", r, err)
		}
	}
	write(t, path, "roles:\n  dev: x\n")
	if _, err := ReadRequirements(path); !strings.HasPrefix(err.Error(), path+", line 2: roles.dev: must be a list") {
		t.Errorf("error %v", err)
	}
}

func TestFileMeets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "o.md")
	must(t, errors.Join(os.MkdirAll(filepath.Join(dir, "d/e"), 0o700), os.Mkdir(filepath.Join(dir, "g.md"), 0o700)))
	for _, path := range []string{outside, filepath.Join(dir, "a.md"), filepath.Join(dir, "d/e/f.md"), filepath.Join(dir, "g.md/x")} {
		write(t, path, "x")
	}
	write(t, filepath.Join(dir, "empty.md"), "")
	err := errors.Join(
		os.Symlink(outside, filepath.Join(dir, "out.md")), os.Symlink(filepath.Dir(outside), filepath.Join(dir, "outdir")),
		os.Symlink("a.md", filepath.Join(dir, "in.md")), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
	)
	must(t, err)
	for glob, want := range map[string]bool{
		"a.md": true, "*.md": true, "in.md": true, "d/e/f.md": true, "d/*/*.md": true, "*/*/f.?d": true, "[a]*": true,
		"b.md": false, "empty.md": false, "out.md": false, "outdir/*": false, "outdir/o.md": false, "g.md": false, "d": false,
		"fifo": false, "fifo/*": false, "a.md/*": false, "x/*": false, "A.md": false,
	} {
		r := Requirements{Files: map[string][]string{"x": {"missing", glob}}}
		equal(t, glob, r.FileMeets("x", dir), want)
	}
	r := Requirements{Files: map[string][]string{"x": {"*"}}}
	if r.FileMeets("y", dir) || r.FileMeets("x", filepath.Join(dir, "missing")) || r.FileMeets("x", filepath.Join(dir, "a.md")) {
		t.Error("met by nothing")
	}
	s := search{left: 3}
	s.root = value(os.OpenRoot(dir))(t)
	defer s.root.Close()
	if s.finds(".", []string{"*", "*", "*", "none"}); s.left != 0 {
		t.Errorf("%d entries left", s.left)
	}
}

func TestHeadingTitle(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"current_story": "Current Story", "stories": "Stories", "": "", "a_2_b": "A 2 B", "ärger-x": "Ärger X"} {
		equal(t, in, HeadingTitle(in), want)
	}
}

// TestShippedPersonasTeachTheirRequirements: what the role of a shipped persona requires stands in its skill by its heading, so
// that a handoff within the persona does not lack what nobody has asked for.
func TestShippedPersonasTeachTheirRequirements(t *testing.T) {
	t.Parallel()
	req := value(ParseRequirements(shippedRequirements))(t)
	folders, err := shipped.ReadDir("personas")
	if err != nil || len(folders) < 8 {
		t.Fatalf("%d personas, %v", len(folders), err)
	}
	taught := 0
	for _, f := range folders {
		parts := strings.Split(f.Name(), "-")
		role := strings.Join(parts[:len(parts)-2], "-")
		skill := value(shipped.ReadFile("personas/" + f.Name() + "/skill.md"))(t)
		for _, name := range req.Of(role) {
			if taught++; !strings.Contains(string(skill), "*"+HeadingTitle(name)+"*") {
				t.Errorf("%s: the skill does not name %q", f.Name(), HeadingTitle(name))
			}
		}
	}
	if taught < 10 {
		t.Errorf("%d requirements", taught)
	}
}

func TestHasSection(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"":                                          false,
		"# Current Story":                           false,
		"# Current Story\ntext":                     true,
		"#### current-STORY:\n\n- x":                true,
		"# Current Story\n\n# Other\ntext":          false,
		"# Current Story\n## Part\n### Deeper\n":    false,
		"# Current Story\n## Part\n### Deeper\nx":   true,
		"### Current Story\n## Part\ntext":          false,
		"# Current Story\n# Current Story\ntext":    true,
		"# Current Story\n## Current Story\ntext":   true,
		"# Current Story\n<!-- to do -->\n":         false,
		"# Current Story\n<!-- to do\nx":            false,
		"# Current Story\n<!-- a -->b":              true,
		"# Current Story\n---\n...\n```\n```":       false,
		"```\n# Current Story\nx\n```\ny":           false,
		"```\n# Current Story\nx\n```":              true,
		"~~~\n# Current Story\r\nx":                 true,
		"# The Current Story\ntext":                 false,
		"# A\n# Current Story\n\u200b\n# B\ntext\n": false,
	} {
		equal(t, in, HasSection(in, "current_story"), want)
	}
	if HasSection("#\ntext", "_") {
		t.Error("a requirement without letters is met")
	}
}

func FuzzParseRequirements(f *testing.F) {
	f.Add(shippedRequirements)
	f.Add([]byte("roles: {a: [b]}\naliases: {c: a}\nfiles: {b: ['*']}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRequirements(b)
		if err != nil && (len(r.Roles) > 0 || strings.Contains(err.Error(), "%!")) {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, role := range r.Aliases {
			if _, ok := r.Roles[role]; !ok {
				t.Fatalf("alias to %q", role)
			}
		}
		for _, globs := range r.Files {
			for _, glob := range globs {
				if !filepath.IsLocal(glob) {
					t.Fatalf("glob %q", glob)
				}
			}
		}
	})
}
