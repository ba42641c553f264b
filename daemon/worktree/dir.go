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

// maxReferences is how many files References returns at most, because a tree of generated files must not fill the context.
const maxReferences = 500

// Dir is a working directory, with the changes of its files that git and the agent's edits show.
type Dir struct {
	dir   string // absolute; without symbolic links, as git names it, if the links could be resolved
	tree  Tree
	git   bool              // tree is from git; false: git knows nothing about the directory
	edits map[string]bool   // the files that the agent edited, absolute
	state map[string]Change // the files that are not committed, by path
	since time.Time         // when the agent began
}

// NewDir makes a Dir of a working directory. own is understudy's data directory: its files are not part of the work. git is
// true if tree is from git. edited are the paths that the agent edited, as the agent named them. since is when the agent began.
func NewDir(dir, own string, tree Tree, git bool, edited []string, since time.Time) *Dir {
	w := &Dir{dir: dir, tree: tree, git: git, since: since, edits: map[string]bool{}, state: map[string]Change{}}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		w.dir = real
	}
	for _, path := range edited {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if below(dir, path) { // replace dir by the directory without links, because git names files by that
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

// References returns the files that the work touched, sorted, each once, at most maxReferences. more is how many files it
// left out.
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

// short returns a path relative to the directory if the path is inside; otherwise it returns the path unchanged.
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

// maxClaims is how many false claims get a sentence of their own.
const maxClaims = 50

// Check compares the claims of a document about files with the files and with git. It returns a sentence for each false
// claim. All false claims beyond maxClaims get one sentence together.
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

// contradiction returns a sentence that says why a claim is false. It returns "" if nothing contradicts the claim.
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
	names map[string]bool // base names of all files in a directory without git; nil until below reads the directory
}

// find reports whether there is a file of that name, and returns its path. The path is "" if it is not known.
func (l *lookup) find(name string) (path string, there bool) {
	name = strings.TrimPrefix(name, "./")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", true // do not report a file as missing if the home directory is not known
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

// maxWalk is how many files and folders lookup.below reads at most.
const maxWalk = 20_000

// below reports whether a file with this base name is anywhere in the working directory. find calls it only if git does not
// know the directory. below reports true for any name if the directory has more than maxWalk files and folders.
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
