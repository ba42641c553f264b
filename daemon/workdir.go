package daemon

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

// workdir is a working directory and what is known of it: by git, by the agent's own edits, and by
// looking.
type workdir struct {
	dir    string // absolute
	own    string // our data directory, whose files are not the work's
	tree   Worktree
	git    bool     // the tree is known
	edited []string // by the agent, as it named them
	since  time.Time
}

// references are the files that the work touched, sorted, each once.
func (w *workdir) references() []data.Reference {
	notes := map[string]string{}
	for _, path := range w.edits() {
		notes[w.short(path)] = "edited"
	}
	for _, path := range w.tree.Committed {
		notes[w.short(path)] = "committed"
	}
	for _, c := range w.tree.Changed {
		if !w.ours(c.Path) {
			notes[w.short(c.Path)] = c.note()
		}
	}
	out := []data.Reference{}
	for _, path := range slices.Sorted(maps.Keys(notes)) {
		out = append(out, data.Reference{Path: path, Note: notes[path]})
	}
	return out[:min(len(out), maxReferences)]
}

// progress reports whether the agent itself touched a file or committed.
func (w *workdir) progress() bool { return len(w.edits()) > 0 || len(w.tree.Committed) > 0 }

// edits are the files that the agent edited, absolute, without those of our data directory.
func (w *workdir) edits() []string {
	var out []string
	for _, path := range w.edited {
		if !filepath.IsAbs(path) {
			path = filepath.Join(w.dir, path)
		}
		if path = filepath.Clean(path); !w.ours(path) {
			out = append(out, path)
		}
	}
	return out
}

// ours reports whether a file is one of the data directory: the document, the experience.
func (w *workdir) ours(path string) bool { return below(w.own, path) }

// short is a path as people in the directory would write it.
func (w *workdir) short(path string) string {
	if below(w.dir, path) {
		return strings.TrimPrefix(path, strings.TrimSuffix(w.dir, "/")+"/")
	}
	return path
}

// below reports whether a path is inside a directory.
func below(dir, path string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func (c FileChange) note() string {
	if c.Added == 0 && c.Deleted == 0 {
		return c.Status
	}
	return fmt.Sprintf("%s, +%d -%d", c.Status, c.Added, c.Deleted)
}

// check compares what the document says of files with what is there. It returns one sentence for
// each claim that does not hold.
func (w *workdir) check(claims []data.Claim) (warnings []string) {
	look := lookup{w: w}
	for _, c := range claims {
		path, there := look.find(c.Path)
		switch {
		case !there && (c.Change == "deleted" || c.Change == "planned"):
		case !there && slices.Contains(w.changedPaths("deleted"), w.absolute(c.Path)):
		case !there:
			warnings = append(warnings, fmt.Sprintf("The document names %s, which is not in the working directory%s.", c.Path, w.norGit()))
		case c.Change == "deleted":
			warnings = append(warnings, fmt.Sprintf("The document says that %s was deleted, but it is there.", c.Path))
		case c.Change == "changed" && path != "" && w.git && !w.touched(path):
			warnings = append(warnings, fmt.Sprintf("The document says that %s was changed, but neither git nor its date shows a change since the agent began.", c.Path))
		}
	}
	return warnings
}

func (w *workdir) norGit() string {
	if w.git {
		return " and not known to git"
	}
	return ""
}

func (w *workdir) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(w.dir, name)
}

func (w *workdir) changedPaths(status string) []string {
	var out []string
	for _, c := range w.tree.Changed {
		if status == "" || c.Status == status {
			out = append(out, c.Path)
		}
	}
	return out
}

// touched reports whether a file was changed since the agent began, by whatever shows it.
func (w *workdir) touched(path string) bool {
	if slices.Contains(w.tree.Committed, path) || slices.Contains(w.changedPaths(""), path) || slices.Contains(w.edits(), path) {
		return true
	}
	fi, err := os.Stat(path)
	return err != nil || !fi.ModTime().Before(w.since)
}

// lookup finds files by the names that a document uses.
type lookup struct {
	w     *workdir
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
