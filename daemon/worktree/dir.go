package worktree

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/data"
)

// maxReferences is how many files are named at most; a generated tree must not fill the context.
const maxReferences = 500

// Dir is a working directory and what is known of it: by git, by the agent's own edits, and by
// looking.
type Dir struct {
	dir   string // absolute, by its real name where that is known, as git has it
	own   string // our data directory, whose files are not the work's
	tree  Tree
	git   bool              // the tree is known
	edits map[string]bool   // by the agent, absolute
	state map[string]Change // of what is not committed, by path
	since time.Time
}

// NewDir puts together what is known. edited are paths as the agent named them.
func NewDir(dir, own string, tree Tree, git bool, edited []string, since time.Time) *Dir {
	w := &Dir{dir: dir, own: own, tree: tree, git: git, since: since, edits: map[string]bool{}, state: map[string]Change{}}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		w.dir = real
	}
	for _, path := range edited {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if below(dir, path) { // the same file by the directory's real name
			path = filepath.Join(w.dir, strings.TrimPrefix(path, dir))
		}
		if !below(own, path) {
			w.edits[path] = true
		}
	}
	w.tree.Committed = slices.DeleteFunc(slices.Clone(tree.Committed), func(path string) bool { return below(own, path) })
	for _, c := range tree.Changed {
		if !below(own, c.Path) {
			w.state[c.Path] = c
		}
	}
	return w
}

// References are the files that the work touched, sorted, each once; and how many there are besides.
func (w *Dir) References() (refs []data.Reference, more int) {
	notes := map[string]string{}
	for path := range w.edits {
		notes[w.short(path)] = "edited"
	}
	for _, path := range w.tree.Committed {
		notes[w.short(path)] = "committed"
	}
	for path, c := range w.state {
		notes[w.short(path)] = c.note()
	}
	refs = []data.Reference{}
	for _, path := range slices.Sorted(maps.Keys(notes)) {
		refs = append(refs, data.Reference{Path: path, Note: notes[path]})
	}
	n := min(len(refs), maxReferences)
	return refs[:n], len(refs) - n
}

// Progress reports whether the agent itself touched a file, or something was committed since it began.
func (w *Dir) Progress() bool { return len(w.edits) > 0 || len(w.tree.Committed) > 0 }

// short is a path as people in the directory would write it.
func (w *Dir) short(path string) string {
	if below(w.dir, path) {
		return strings.TrimPrefix(path, strings.TrimSuffix(w.dir, "/")+"/")
	}
	return path
}

// below reports whether a path is inside a directory.
func below(dir, path string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func (c Change) note() string {
	if c.Added == 0 && c.Deleted == 0 {
		return c.Status
	}
	return fmt.Sprintf("%s, +%d -%d", c.Status, c.Added, c.Deleted)
}

// maxClaims is how many claims that don't hold are told one by one.
const maxClaims = 50

// Check compares what the document says of files with what is there. It returns one sentence for
// each claim that does not hold.
func (w *Dir) Check(claims []data.Claim) (warnings []string) {
	look := lookup{w: w}
	wrong := 0
	for _, c := range claims {
		said := w.contradiction(&look, c)
		if said == "" {
			continue
		}
		if wrong++; wrong <= maxClaims {
			warnings = append(warnings, said)
		}
	}
	if wrong > maxClaims {
		warnings = append(warnings, fmt.Sprintf("The document says %d more things of files that do not hold.", wrong-maxClaims))
	}
	return warnings
}

// contradiction is what speaks against a claim; "" if nothing does.
func (w *Dir) contradiction(look *lookup, c data.Claim) string {
	path, there := look.find(c.Path)
	switch {
	case !there && (c.Change == "deleted" || c.Change == "planned"):
	case !there && w.state[w.absolute(c.Path)].Status == "deleted":
	case !there:
		return fmt.Sprintf("The document names %s, which is not in the working directory%s.", c.Path, w.norGit())
	case c.Change == "deleted":
		return fmt.Sprintf("The document says that %s was deleted, but it is there.", c.Path)
	case c.Change == "changed" && path != "" && w.git && !w.touched(path):
		return fmt.Sprintf("The document says that %s was changed, but neither git nor its date shows a change since the agent began.", c.Path)
	}
	return ""
}

func (w *Dir) norGit() string {
	if w.git {
		return " and not known to git"
	}
	return ""
}

func (w *Dir) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(w.dir, name)
}

// touched reports whether a file was changed since the agent began, by whatever shows it.
func (w *Dir) touched(path string) bool {
	_, changed := w.state[path]
	if changed || w.edits[path] || slices.Contains(w.tree.Committed, path) {
		return true
	}
	fi, err := os.Stat(path)
	return err != nil || !fi.ModTime().Before(w.since)
}

// lookup finds files by the names that a document uses.
type lookup struct {
	w     *Dir
	names map[string]bool // base names below a directory without git; nil: not looked yet
}

// find returns where a named file is, "" if that is not known, and whether it is there.
func (l *lookup) find(name string) (path string, there bool) {
	name = strings.TrimPrefix(name, "./")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", true // it can't be said that it is not there
		}
		name = filepath.Join(home, rest)
	}
	for _, dir := range []string{l.w.dir, l.w.tree.Top} {
		if dir == "" {
			continue
		}
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		if _, err := os.Lstat(at); err == nil {
			return at, true
		}
	}
	if slices.Contains(l.w.tree.Known, name) || slices.Contains(l.w.tree.Known, "./"+name) {
		return "", true
	}
	if l.w.git || strings.Contains(name, "/") {
		return "", false
	}
	return "", l.below(name)
}

// maxWalk is how many files are looked at for a bare name, where there is no git to ask.
const maxWalk = 20_000

// below looks for a bare name anywhere in the working directory. A directory too large to be
// looked through is given the benefit of the doubt.
func (l *lookup) below(name string) bool {
	if l.names == nil {
		l.names = map[string]bool{}
		n := 0
		err := filepath.WalkDir(l.w.dir, func(path string, e fs.DirEntry, err error) error {
			if n++; n > maxWalk {
				return fs.ErrInvalid
			}
			if err == nil {
				l.names[e.Name()] = true
			}
			return nil
		})
		if err != nil {
			l.names["*"] = true
		}
	}
	return l.names[name] || l.names["*"]
}
