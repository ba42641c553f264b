package personas

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// templateOf returns a template with one step for each agent.
func templateOf(name string, agents ...string) string {
	text := "name: " + name + "\nsteps:\n"
	for _, a := range agents {
		text += "  - agent: " + a + "\n"
	}
	return text
}

func openTemplates(t *testing.T, root string) *Templates {
	t.Helper()
	return value(OpenTemplates(root))(t)
}

// shown returns the list in a form that is easy to compare: "name:agent,agent", with a ! for a
// problem.
func shown(all []Template) string {
	var list []string
	for _, t := range all {
		var agents []string
		for _, s := range t.Steps {
			agents = append(agents, s.Agent)
		}
		one := t.Name + ":" + strings.Join(agents, ",")
		if t.Problem != "" {
			one += "!"
		}
		list = append(list, one)
	}
	return strings.Join(list, " ")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"b.yaml":           templateOf("zebra", "dev", "qa"),
		"c.yml":            templateOf("ape", "dev"),
		"in.yaml":          "",
		"broken.yaml":      "name: other\nsteps:\n  - agnet: a\n",
		".hidden.yaml":     templateOf("hidden", "dev"),
		"#b.yaml#":         templateOf("emacs", "dev"),
		"#b.yaml":          templateOf("emacs", "dev"),
		"b.yaml~":          templateOf("backup", "dev"),
		"b.yaml.tmp":       templateOf("temp", "dev"),
		".b.yaml.swp":      "x",
		"README.md":        "x",
		"sub/x.yaml":       templateOf("sub", "dev"),
		"../elsewhere/e.y": templateOf("secret", "dev"),
	})
	must(t, os.Symlink("nowhere", filepath.Join(root, ".#b.yaml"))) // Emacs' lock
	must(t, os.Remove(filepath.Join(root, "in.yaml")))
	must(t, os.Symlink("sub/x.yaml", filepath.Join(root, "in.yaml")))
	all := openTemplates(t, root)
	equal(t, "list is", shown(all.List()), "ape:dev broken:! sub:dev zebra:dev,qa")
	want := Template{Name: "zebra", Steps: []TemplateStep{{Agent: "dev", Next: []Rule{}}, {Agent: "qa", Next: []Rule{}}}, File: filepath.Join(root, "b.yaml")}
	got := value(all.Get("zebra"))(t)
	equal(t, "zebra", got, want)
	for _, name := range []string{"other", "b", "hidden", "emacs", "secret", "", "../elsewhere/e"} {
		if got, err := all.Get(name); !errors.Is(err, ErrNoTemplate) || errors.Is(err, ErrBrokenTemplate) {
			t.Errorf("%q gives %+v, %v", name, got, err)
		}
	}
	_, err := all.Get("broken")
	if !errors.Is(err, ErrBrokenTemplate) || errors.Is(err, ErrNoTemplate) || err.Error() != all.List()[1].Problem ||
		!strings.HasPrefix(err.Error(), `broken.yaml:3: step 1 has an unknown key "agnet"`) {
		t.Errorf("broken gives %v", err)
	}

	// The caller may change what it gets.
	got.Steps[0].Agent = "changed"
	list := all.List()
	list[3].Name, list[3].Steps[0].Agent = "changed", "changed"
	equal(t, "list is … after a caller's change", shown(all.List()), "ape:dev broken:! sub:dev zebra:dev,qa")
	if all.List()[1].Steps == nil {
		t.Error("without steps the list of steps is null")
	}
}

func TestTemplateFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"fifo", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "bad.yaml is not a regular file"},
		{"folder", func(path string) error { return os.Mkdir(path, 0o700) }, "bad.yaml is not a regular file"},
		{"leads out", func(path string) error { return os.Symlink("../secret", path) }, "bad.yaml is a link that leads out"},
		{"leads to a device", func(path string) error { return os.Symlink("/dev/zero", path) }, "bad.yaml is a link that leads out"},
		{"leads to a fifo", func(path string) error {
			return errors.Join(syscall.Mkfifo(filepath.Join(filepath.Dir(path), "fifo"), 0o600), os.Symlink("fifo", path))
		}, "bad.yaml is not a regular file"},
		{"leads nowhere", func(path string) error { return os.Symlink("none", path) }, "bad.yaml: no such file"},
		{"leads to itself", func(path string) error { return os.Symlink("bad.yaml", path) }, "bad.yaml"},
		{"written by others", func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(plainTemplate), 0o600), os.Chmod(path, 0o666))
		}, "bad.yaml may be written by others (mode 0666)"},
		{"one byte too large", func(path string) error {
			return os.WriteFile(path, []byte(plainTemplate+"#"+strings.Repeat("x", maxFile-len(plainTemplate))), 0o600)
		}, "bad.yaml has 262145 bytes and the limit is 262144"},
		{"huge", func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) }, "bad.yaml has 1099511627776 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, map[string]string{"good.yaml": templateOf("good", "dev")})
			put(t, filepath.Join(root, "../secret"), templateOf("secret", "dev"))
			must(t, test.make(filepath.Join(root, "bad.yaml")))
			all := openTemplates(t, root)
			if got := shown(all.List()); got != "bad:! good:dev" {
				t.Fatalf("list is %s", got)
			}
			if got := strings.TrimPrefix(all.List()[0].Problem, root+"/"); !strings.HasPrefix(got, test.want) {
				t.Errorf("problem %q, want %q", got, test.want)
			}
		})
	}
	root := folder(t, map[string]string{"a.yaml": plainTemplate + "#" + strings.Repeat("x", maxFile-len(plainTemplate)-1)})
	equal(t, "the largest file gives", shown(openTemplates(t, root).List()), "x:developer")
	failed(OpenTemplates(filepath.Join(root, "none")))(t, "missing folder", os.ErrNotExist)
	failed(OpenTemplates(filepath.Join(root, "a.yaml")))(t, "a file was opened")
}

// TestTemplatesFromScanToScan: each line is one state of the folder, and the list after its scan.
func TestTemplatesFromScanToScan(t *testing.T) {
	t.Parallel()
	const broken = "name: ["
	for name, states := range map[string][]struct {
		files map[string]string // "" deletes one
		want  string
	}{
		"a broken edit keeps what there was": {
			{map[string]string{"f.yaml": templateOf("a", "dev")}, "a:dev"},
			{map[string]string{"f.yaml": broken}, "a:dev!"},
			{map[string]string{"f.yaml": "name: b\n"}, "a:dev!"},
			{map[string]string{"f.yaml": templateOf("b", "qa")}, "b:qa"},
			{map[string]string{"f.yaml": ""}, ""},
			{map[string]string{"f.yaml": broken}, "f:!"},
		},
		"who has a name keeps it": {
			{map[string]string{"b.yaml": templateOf("x", "dev")}, "x:dev"},
			{map[string]string{"c.yaml": templateOf("x", "qa")}, "c:! x:dev"},
			{map[string]string{"a.yaml": templateOf("x", "pm")}, "a:! c:! x:dev"},
			{map[string]string{"a.yaml": ""}, "c:! x:dev"},
			{map[string]string{"b.yaml": templateOf("y", "dev")}, "x:qa y:dev"},
			{map[string]string{"c.yaml": templateOf("y", "sm")}, "x:qa! y:dev"}, // keeps its last contents
			{map[string]string{"b.yaml": ""}, "y:sm"},
		},
		"a broken one keeps its name": {
			{map[string]string{"a.yaml": templateOf("x", "dev")}, "x:dev"},
			{map[string]string{"a.yaml": broken, "b.yaml": templateOf("x", "qa")}, "b:! x:dev!"},
			{map[string]string{"a.yaml": ""}, "x:qa"},
		},
		"a broken one keeps its name from an earlier one": {
			{map[string]string{"b.yaml": templateOf("x", "dev")}, "x:dev"},
			{map[string]string{"b.yaml": broken, "a.yaml": templateOf("x", "qa")}, "a:! x:dev!"},
		},
		"a broken file under the name of another": {
			{map[string]string{"a.yaml": templateOf("b", "dev"), "b.yaml": broken}, "b:dev b:!"},
			{map[string]string{"c.yaml": templateOf("a", "dev"), "a.yaml": broken, "b.yaml": ""}, "a:dev b:dev!"},
		},
	} {
		root := folder(t, nil)
		all := openTemplates(t, root)
		for i, state := range states {
			for file, text := range state.files {
				if text == "" {
					must(t, os.Remove(filepath.Join(root, file)))
				} else {
					put(t, filepath.Join(root, file), text)
				}
			}
			must(t, all.rescan(func(string) {}))
			equal(t, fmt.Sprint(name, ", ", i, ": list is"), shown(all.List()), state.want)
		}
	}
	root := folder(t, map[string]string{"a.yaml": templateOf("x", "dev"), "b.yaml": "\n" + templateOf("x", "qa"), "x.yaml": broken})
	all := openTemplates(t, root)
	equal(t, "problem", all.List()[0].Problem, "b.yaml:2: the name x is that of a.yaml: give one of them another")
	equal(t, "the agent of x", value(all.Get("x"))(t).Steps[0].Agent, "dev")
	must(t, os.RemoveAll(root))
	must(t, all.rescan(func(string) {}))
	if got := all.List(); got == nil || len(got) != 0 {
		t.Errorf("without the folder: %+v", got)
	}
}

// TestShippedTemplates: the shipped templates name shipped personas only.
func TestShippedTemplates(t *testing.T) {
	t.Parallel()
	all := value(OpenTemplates(filepath.Join("..", "data", "pipelines")))(t)
	equal(t, "shipped", shown(all.List()), "full_feature:product-owner,architect,designer,developer,senior-reviewer,qa issue_only:product-owner quick_fix:developer,senior-reviewer")
	store := openStore(t, filepath.Join("..", "data", "personas"))
	roles := map[string]bool{}
	for _, p := range store.List() {
		roles[p.Role] = true
		if p.Problem != "" || p.Experience == "" || !strings.HasPrefix(p.SkillFile, "---\nname: "+p.Slug+"\n") {
			t.Errorf("persona %s: %q", p.Slug, p.Problem)
		}
	}
	var gates []string
	for _, template := range all.List() {
		if template.Description == "" || template.Problem != "" {
			t.Errorf("%s: %q", template.Name, template.Problem)
		}
		for i, step := range template.Steps {
			if !roles[step.Agent] || step.Description == "" || len(step.Prompt) < 200 {
				t.Errorf("%s: step %+v", template.Name, step)
			}
			if step.Approval {
				gates = append(gates, fmt.Sprint(template.Name, " ", i+1, " ", step.Agent, " ", step.RemindAfter))
			}
		}
	}
	equal(t, "approvals", strings.Join(gates, ", "), "full_feature 4 developer 30m0s")
}
