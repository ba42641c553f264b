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

// maxReferences is how many files References names: a generated tree must not fill the context.
const maxReferences = 500

// Dir is a working directory, with what git and the agent's edits tell of its files.
type Dir struct {
	dir   string // absolute and without links, as git names it, if it could be resolved
	own   string // understudy's data directory: its files are not part of the work
	tree  Tree
	git   bool              // git has told tree
	edits map[string]bool   // the files that the agent edited, absolute
	state map[string]Change // the files that are not committed, by path
	since time.Time         // when the agent began
}

// NewDir makes a Dir of a working directory. own is understudy's data directory. git: tree is what git tells. edited are the
// paths that the agent edited, as it named them. since is when the agent began.
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
		if below(dir, path) { // name the file by the resolved directory, as git does
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

// References returns the files that the work touched, sorted, each once, at most maxReferences; and how many more there are.
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

// Progress reports whether the agent edited a file, or somebody committed one since the agent began.
func (w *Dir) Progress() bool { return len(w.edits) > 0 || len(w.tree.Committed) > 0 }

// short returns a path relative to the directory, if it is inside.
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

// note says how a file differs from the last commit.
func (c Change) note() string {
	if c.Added == 0 && c.Deleted == 0 {
		return c.Status
	}
	return fmt.Sprintf("%s, +%d -%d", c.Status, c.Added, c.Deleted)
}

// maxClaims is how many claims that do not hold get a sentence of their own.
const maxClaims = 50

// Check compares what a document claims of files with the files and with git. It returns a sentence for each claim that does
// not hold; for those beyond maxClaims one together.
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

// contradiction returns the sentence against a claim; "": nothing speaks against it.
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

// touched reports whether git, the agent's edits or the file's date show that a file was changed since the agent began.
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
	names map[string]bool // base names of all files in a directory without git; nil: nobody has looked yet
}

// find reports whether a file of that name is there, and returns its path; "": the path is not known.
func (l *lookup) find(name string) (path string, there bool) {
	name = strings.TrimPrefix(name, "./")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", true // without the home directory nothing shows that the file is missing
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

// maxWalk is how many files below looks at.
const maxWalk = 20_000

// below reports whether a file with a bare name is anywhere in the working directory, which git does not know. In a directory
// with more than maxWalk files, or one that can't be read, it reports that it is.
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
