package personas

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// templateRun is a running Templates with the problems that it reported.
type templateRun struct {
	*Templates
	root     string
	problems chan Template
	log      *wardentest.Buffer
}

// runTemplates runs the templates of a folder until the test ends. Only events report changes, unless
// set says otherwise. It returns after the first scan, when the folder is watched.
func runTemplates(t *testing.T, files map[string]string, set func(*Templates)) *templateRun {
	t.Helper()
	root := folder(t, files)
	r := &templateRun{Templates: openTemplates(t, root), root: root, problems: make(chan Template, 100), log: &wardentest.Buffer{}}
	r.safety, r.polling = time.Hour, time.Hour
	r.Log = slog.New(slog.NewTextHandler(r.log, nil))
	r.OnProblem = func(t Template) { r.problems <- t }
	if set != nil {
		set(r.Templates)
	}
	const first = "first.yaml" // seen by Run's first scan at the latest
	r.put(t, first, templateOf("first", "dev"))
	untilTheEnd(t, r.Run)
	isThere := func(list string) bool { return strings.Contains(list, "first:dev") }
	r.awaitList(t, first, isThere)
	must(t, os.Remove(filepath.Join(root, first)))
	r.awaitList(t, "removal of "+first, func(list string) bool { return !isThere(list) })
	return r
}

// await waits until the list equals want.
func (r *templateRun) await(t *testing.T, want, what string) {
	t.Helper()
	r.awaitList(t, what, func(list string) bool { return list == want })
}

func (r *templateRun) awaitList(t *testing.T, what string, ok func(list string) bool) {
	t.Helper()
	wardentest.Eventually(t, what, func() bool { return ok(shown(r.List())) })
}

// problem waits for the next problem that is reported.
func (r *templateRun) problem(t *testing.T, want string) Template {
	t.Helper()
	select {
	case got := <-r.problems:
		if !strings.HasPrefix(got.Problem, want) {
			t.Fatalf("told %q, want %q", got.Problem, want)
		}
		return got
	case <-time.After(patience):
		t.Fatalf("not told: %s", want)
	}
	return Template{}
}

// put saves a file by rename: a scan never sees half of it, however long the test waits for the processor.
func (r *templateRun) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(r.root, name)
	put(t, path+".tmp", text)
	must(t, os.Rename(path+".tmp", path))
}

func TestTemplatesReload(t *testing.T) {
	t.Parallel()
	r := runTemplates(t, map[string]string{"a.yaml": templateOf("a", "dev")}, nil)
	path := filepath.Join(r.root, "a.yaml")

	r.put(t, "a.yaml", templateOf("a", "dev", "qa"))
	r.await(t, "a:dev,qa", "edit")

	broken := "name: a\nsteps:\n  - agent: dev\n    tiemout: 5\n"
	r.put(t, "a.yaml", broken)
	told := r.problem(t, `a.yaml:4: step 1 has an unknown key "tiemout"`)
	if got := shown([]Template{told}); got != "a:dev,qa!" || told.File != path {
		t.Errorf("told %+v", told)
	}
	if got, err := r.Get("a"); err != nil || len(got.Steps) != 2 || got.Problem != told.Problem {
		t.Errorf("while it is broken: %+v, %v", got, err)
	}
	r.put(t, "b.yaml", templateOf("b", "dev")) // the same problem is not reported again
	r.await(t, "a:dev,qa! b:dev", "another file")
	r.put(t, "a.yaml", strings.Replace(broken, "tiemout", "tmeout", 1))
	r.problem(t, `a.yaml:4: step 1 has an unknown key "tmeout"`)

	r.put(t, "a.yaml", templateOf("a", "pm"))
	r.await(t, "a:pm b:dev", "mended")
	r.put(t, "a.yaml", broken) // reported before, but corrected since
	r.problem(t, `a.yaml:4: step 1 has an unknown key "tiemout"`)
	if got := r.log.String(); strings.Count(got, "can be used again") != 1 || !strings.Contains(got, "template=a") || strings.Contains(got, "can't be used") {
		t.Errorf("log: %s", got)
	}

	must(t, os.Remove(path))
	r.await(t, "b:dev", "removed")
	failed(r.Get("a"))(t, "a deleted one gives", ErrNoTemplate)
	must(t, os.Rename(filepath.Join(r.root, "b.yaml"), filepath.Join(r.root, "c.yml")))
	r.put(t, "d.yaml", "")
	r.await(t, "b:dev d:!", "renamed file and a new one")
	r.problem(t, "d.yaml:1: the file is empty")
	must(t, os.Remove(filepath.Join(r.root, "d.yaml")))
	r.await(t, "b:dev", "removed while it was broken")
	r.put(t, "d.yaml", "") // another file, so its problem is reported
	r.problem(t, "d.yaml:1: the file is empty")
	select {
	case got := <-r.problems:
		t.Errorf("told as well: %s", got.Problem)
	default:
	}
}

// TestAPassingProblemIsNotReported: while an editor saves a template in place, the file is empty for a moment.
func TestAPassingProblemIsNotReported(t *testing.T) {
	t.Parallel()
	var reported []string
	tm := &Templates{OnProblem: func(t Template) { reported = append(reported, t.Problem) }}
	tm.Log = slog.New(slog.DiscardHandler)
	r := &report{told: map[string]string{}, found: map[string]foundProblem{}}
	begin := time.Now()
	for i, scan := range []struct {
		at      time.Duration
		problem string
		want    string // reported by then
	}{
		{0, "the file is empty", ""},
		{reportAfter / 2, "", ""}, // it has been written
		{reportAfter, "", ""},
		{2 * reportAfter, "no steps", ""},
		{2*reportAfter + reportAfter/2, "no steps", ""},
		{3 * reportAfter, "no steps", "no steps"},
		{4 * reportAfter, "no steps", "no steps"},
		{5 * reportAfter, "no name", "no steps"}, // another problem begins anew
		{6 * reportAfter, "no name", "no steps no name"},
	} {
		tm.snapshot = []Template{{File: "/p/a.yaml", Problem: scan.problem}}
		tm.tell(r, begin.Add(scan.at))
		equal(t, fmt.Sprint("scan ", i, ": reported"), strings.Join(reported, " "), scan.want)
		equal(t, fmt.Sprint("scan ", i, ": another scan is asked for"), r.again() > 0, scan.problem != "" && !strings.HasSuffix(scan.want, scan.problem))
	}
	tm.snapshot = nil
	if tm.tell(r, begin.Add(7*reportAfter)); len(r.told)+len(r.found) != 0 {
		t.Errorf("a file that is gone is remembered: %+v", r)
	}
}

func TestTemplatesTellWhatOpenFound(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.yaml": templateOf("x", "dev"), "b.yaml": templateOf("x", "qa"), "c.yaml": "x"}
	r := runTemplates(t, files, nil)
	r.problem(t, "b.yaml:1: the name x is that of a.yaml")
	r.problem(t, "c.yaml:1: the template must be")
	must(t, os.Remove(filepath.Join(r.root, "c.yaml")))
	r.put(t, "b.yaml", templateOf("y", "qa"))
	r.await(t, "x:dev y:qa", "mended")

	logged := runTemplates(t, files, func(t *Templates) { t.OnProblem = nil })
	logged.awaitList(t, "problems in the log", func(string) bool {
		return strings.Count(logged.log.String(), "pipeline template can't be used") == 2
	})
	logged.put(t, "c.yaml", templateOf("c", "dev"))
	logged.await(t, "b:! c:dev x:dev", "mended")
	if got := logged.log.String(); strings.Count(got, "pipeline template can't be used") != 2 || !strings.Contains(got, "problem=\"c.yaml:1: ") {
		t.Errorf("log: %s", got)
	}
}

// TestTemplatesReloadOnMode: a change of mode may make an unreadable file readable.
func TestTemplatesReloadOnMode(t *testing.T) {
	t.Parallel()
	r := &Templates{root: "/p"}
	for name, want := range map[string]bool{
		"/p": true, "/p/a.yaml": true, "/p/a.yml": true, "/p/.a.yaml.swp": false, "/p/a.yaml~": false, "/p/4913": false,
		"/p/.a.yaml": false, "/p/#a.yaml#": false, "/p/.shipped": false, "/p/a.md": false,
	} {
		for _, op := range []fsnotify.Op{fsnotify.Write, fsnotify.Chmod} {
			equal(t, fmt.Sprint(op, " ", name), r.relevant(fsnotify.Event{Name: name, Op: op}), want)
		}
	}
}
