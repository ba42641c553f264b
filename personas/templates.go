package personas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/understudyd/understudy/data/trust"
	"github.com/understudyd/understudy/data/yamlfile"
)

var (
	// ErrNoTemplate means that there is no template of that name.
	ErrNoTemplate = errors.New("template not found")
	// ErrBrokenTemplate means that the template's file can't be used, and that it was never usable
	// after OpenTemplates. The error's text is the template's Problem.
	ErrBrokenTemplate = errors.New("template can't be used")
)

// brokenTemplate is a template's Problem as an error.
type brokenTemplate string

func (e brokenTemplate) Error() string { return string(e) }

func (e brokenTemplate) Is(target error) bool { return target == ErrBrokenTemplate }

// Template is the plan from which a pipeline is created.
type Template struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Steps       []TemplateStep `json:"steps"` // never null; empty: the file was never usable
	File        string         `json:"file"`  // absolute
	// Problem says why the present contents of the file can't be used, with the line. "": they can be used.
	// If there is a Problem, the other fields keep the last usable contents, if there were any.
	Problem string `json:"problem"`
}

// TemplateStep is one step of a template.
type TemplateStep struct {
	Agent       string        `json:"agent"` // a persona's slug, or a role
	Description string        `json:"description"`
	Prompt      string        `json:"prompt"`
	Approval    bool          `json:"approval"`     // a person must approve before it begins
	RemindAfter time.Duration `json:"remind_after"` // remind a person when the approval has been missing this long; 0: never
	Timeout     time.Duration `json:"timeout"`      // 0: the timeout of the settings
	Runtime     string        `json:"runtime"`      // "": the persona's
	Model       string        `json:"model"`        // "": the persona's, if that is of the same runtime
	Next        []Rule        `json:"next"`         // the first that applies says which step comes next; none: the following step
	Otherwise   string        `json:"otherwise"`    // [Stop]: a person decides if no rule of Next applies; "": the following step comes
	MaxRounds   int           `json:"max_rounds"`   // with Next: from that round on a person must approve a further one
}

// Templates serves the templates in one folder: its files *.yaml and *.yml that are not hidden.
//
// A file that can't be used is listed with its Problem and its last usable contents. If it was never
// usable, it is listed without steps, under the file's name without suffix. If two files give the same
// template name, the file that already had the name keeps it. If neither had it, the first by file name
// gets it. The other file gets a Problem.
type Templates struct {
	// Run calls OnProblem, in Run's goroutine, for each template that has had a new Problem for
	// reportAfter, including the problems that OpenTemplates found. nil: Run logs them instead. Set
	// OnProblem before Run.
	OnProblem func(Template)

	root string // absolute
	watching
	parsed memo[parsedTemplate] // by file

	mu       sync.Mutex
	snapshot []Template // never modified, only replaced
}

// OpenTemplates reads the templates in the folder root, which must exist.
func OpenTemplates(root string) (*Templates, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("templates folder %s: %w", root, err)
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("templates folder: %w", err)
	}
	t := &Templates{root: abs, watching: byEvents()}
	if err := t.rescan(func(string) {}); err != nil {
		return nil, err
	}
	return t, nil
}

// Get returns a template with its last usable contents, even if it has a Problem now. If there are no
// usable contents, it returns ErrBrokenTemplate; if there is no such template, ErrNoTemplate. The caller
// may change the result.
func (t *Templates) Get(name string) (Template, error) {
	err := fmt.Errorf("%w: %s", ErrNoTemplate, yamlfile.Quote(name))
	for _, found := range t.List() {
		switch {
		case found.Name != name:
		case len(found.Steps) > 0:
			return found, nil
		default:
			err = brokenTemplate(found.Problem)
		}
	}
	return Template{}, err
}

// List returns all templates by name, including those that can't be used. The caller may change the
// result.
func (t *Templates) List() []Template {
	t.mu.Lock()
	snapshot := t.snapshot
	t.mu.Unlock()
	all := make([]Template, 0, len(snapshot))
	for _, found := range snapshot {
		all = append(all, found.clone())
	}
	slices.SortStableFunc(all, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// clone returns a copy that shares nothing with t; its steps are never nil.
func (t Template) clone() Template {
	steps := make([]TemplateStep, len(t.Steps))
	for i := range t.Steps {
		steps[i] = t.Steps[i].clone()
	}
	t.Steps = steps
	return t
}

// Run keeps the templates up to date until ctx ends, then returns nil. Only one Run at a time.
func (t *Templates) Run(ctx context.Context) error {
	r := report{told: map[string]string{}, found: map[string]foundProblem{}}
	t.follow(ctx, followed{
		scan: func(watch func(folder string)) error {
			if err := t.rescan(watch); err != nil {
				return err
			}
			t.tell(&r, time.Now())
			return nil
		},
		relevant: t.relevant,
		again:    r.again,
		log:      t.log().With("folder", t.root),
	})
	return nil
}

// relevant reports whether an event may have changed a template. A change of a file's mode is relevant,
// because a file that can't be read is a Problem.
func (t *Templates) relevant(ev fsnotify.Event) bool {
	return ev.Name == t.root || isTemplate(filepath.Base(ev.Name))
}

// reportAfter is how long a problem must last before Run reports it. An editor that saves in place empties the file first,
// and may take a moment to write it.
const reportAfter = 500 * time.Millisecond

// report has the problems that Run has reported, and those that it may report later, by file.
type report struct {
	told  map[string]string       // reported problems
	found map[string]foundProblem // problems that are not reported yet
}

// foundProblem is a problem that is not reported yet, and the time of the first scan that found it.
type foundProblem struct {
	problem string
	since   time.Time
}

// again returns after which time Run is to scan again, because a problem that is not reported yet may then be
// due. It returns 0 if there is no such problem.
func (r *report) again() time.Duration {
	if len(r.found) == 0 {
		return 0
	}
	return reportAfter
}

// tell reports the snapshot's problems that have lasted for reportAfter and that r has not reported.
func (t *Templates) tell(r *report, now time.Time) {
	t.mu.Lock()
	snapshot := t.snapshot
	t.mu.Unlock()
	there := map[string]bool{}
	for _, found := range snapshot {
		there[found.File] = true
		if found.Problem == r.told[found.File] {
			delete(r.found, found.File)
			continue
		}
		if first := r.found[found.File]; found.Problem != "" && (first.problem != found.Problem || now.Sub(first.since) < reportAfter) {
			if first.problem != found.Problem {
				r.found[found.File] = foundProblem{found.Problem, now}
			}
			continue
		}
		delete(r.found, found.File)
		r.told[found.File] = found.Problem
		switch {
		case found.Problem == "":
			t.log().Info("pipeline template can be used again", "template", found.Name, "file", found.File)
		case t.OnProblem != nil:
			t.OnProblem(found.clone())
		default:
			t.log().Warn("pipeline template can't be used", "template", found.Name, "problem", found.Problem)
		}
	}
	gone := func(file string) bool { return !there[file] }
	maps.DeleteFunc(r.told, func(file, _ string) bool { return gone(file) })
	maps.DeleteFunc(r.found, func(file string, _ foundProblem) bool { return gone(file) })
}

// rescan replaces the snapshot. OpenTemplates calls it first, and then Run.
func (t *Templates) rescan(watch func(folder string)) error {
	t.mu.Lock()
	before := t.snapshot
	t.mu.Unlock()
	found, err := t.scan(watch, before)
	if err != nil {
		return fmt.Errorf("scan of the pipeline templates: %w", err)
	}
	t.mu.Lock()
	t.snapshot = found
	t.mu.Unlock()
	return nil
}

// scan reads every template. If the folder does not exist, there are none. before is the snapshot of the
// previous scan.
func (t *Templates) scan(watch func(folder string), before []Template) ([]Template, error) {
	watch(t.root)
	root, err := os.OpenRoot(t.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := readDir(root, ".")
	if err != nil {
		return nil, err
	}
	// Sort the files that had usable contents before to the front, so that they keep their names.
	had := func(e fs.DirEntry) bool {
		return slices.ContainsFunc(before, func(last Template) bool { return len(last.Steps) > 0 && last.File == filepath.Join(t.root, e.Name()) })
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return compareBool(!had(a), !had(b)) })
	var found []Template
	holder := map[string]string{} // file by template name
	for _, e := range entries {
		if !isTemplate(e.Name()) {
			continue
		}
		now, line, err := t.load(root, e.Name())
		if _, gone := root.Lstat(e.Name()); errors.Is(gone, fs.ErrNotExist) {
			continue // removed after it was listed
		}
		if other := holder[now.Name]; err == nil && other != "" {
			err = templateFile(e.Name()).errorf(line, "the name %s is that of %s: give one of them another", now.Name, other)
		}
		if err != nil {
			now = lastInOrder(before, filepath.Join(t.root, e.Name()), holder)
			now.Problem = err.Error()
		}
		if len(now.Steps) > 0 {
			holder[now.Name] = e.Name()
		}
		found = append(found, now)
	}
	t.parsed.keep(func(file string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == file })
	})
	return found, nil
}

// lastInOrder returns the file's Template from the previous scan if no other file has its name now. Otherwise it returns a
// Template without steps.
func lastInOrder(before []Template, file string, holder map[string]string) Template {
	for _, last := range before {
		if last.File == file && holder[last.Name] == "" {
			return last
		}
	}
	base := filepath.Base(file)
	return Template{Name: strings.TrimSuffix(base, filepath.Ext(base)), File: file}
}

// load reads the template in one file. It also returns the line of the template's name. The error begins with the name of the
// file.
func (t *Templates) load(root *os.Root, name string) (Template, int, error) {
	b, info, err := readFile(root, name)
	if err != nil {
		return Template{}, 0, fmt.Errorf("%w: mend or remove it", err)
	}
	if err := trust.CheckInfo(filepath.Join(root.Name(), name), info); err != nil {
		return Template{}, 0, err
	}
	parsed, err := t.parsed.parse(name, string(b), func() (parsedTemplate, error) { return templateFile(name).parse(b) })
	if err != nil {
		return Template{}, 0, err
	}
	parsed.File = filepath.Join(root.Name(), name)
	return parsed.Template, parsed.line, nil
}

// isTemplate reports whether a name is the name of a template's file, and not of a temporary file of an editor.
func isTemplate(name string) bool {
	suffix := filepath.Ext(name)
	return (suffix == ".yaml" || suffix == ".yml") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#")
}
