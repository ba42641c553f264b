package git

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
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Ask returns daemon.Config.Worktree, which asks the git command. git runs with an environment made from environ. If an
// error is returned, the tree holds what was found out before the error.
//
// Ask trusts neither the repository's configuration nor the names of the query: see [shield].
func Ask(environ []string) func(context.Context, worktree.Query) (worktree.Tree, error) {
	env := gitEnv(environ)
	return func(ctx context.Context, q worktree.Query) (worktree.Tree, error) {
		if err := askable(q.Dir, env); err != nil {
			return worktree.Tree{}, err
		}
		g := git{env: env, dir: q.Dir}
		return g.worktree(ctx, q)
	}
}

// askable returns why git has nothing to say of a folder.
func askable(dir string, env []string) error {
	if _, err := child.LookPath("git", env); err != nil {
		return worktree.ErrNone
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return fmt.Errorf("the working directory %s is gone: make it again", dir)
	}
	if outside(dir) {
		return worktree.ErrNone
	}
	return nil
}

// outside reports whether git would certainly find no repository in a folder or above it. It saves the start of git
// where agents do not work in a repository. In each of these folders it looks, as git does, for a .git that is a file or
// has a HEAD, and for the HEAD of a bare repository. A .git without one is no repository: the sandbox of Codex leaves an
// empty /tmp/.git behind if it is killed.
func outside(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return false
	}
	for above := ""; dir != above; above, dir = dir, filepath.Dir(dir) {
		for _, name := range []string{".git/HEAD", "HEAD"} { // if .git is a file, the error is another one
			if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
				return false
			}
		}
	}
	return true
}

// worktree asks git all questions of a query, one after the other.
func (g git) worktree(ctx context.Context, q worktree.Query) (w worktree.Tree, err error) {
	behind, err := g.shielded(ctx)
	if err != nil {
		return w, err
	}
	defer behind.close()
	g = behind.git // paths from behind.git begin at the top of the work tree
	w.Top = g.dir
	changes, born, _, err := g.changes(ctx)
	if err != nil {
		return w, err
	}
	if born {
		if err := g.countLines(ctx, changes); err != nil {
			return w, err
		}
		if w.Committed, err = g.committed(ctx, q.Since); err != nil {
			return w, err
		}
	}
	w.Changed = inOrder(w.Top, changes)
	w.Committed = absolute(w.Top, w.Committed)
	w.Known, err = g.known(ctx, q)
	return w, err
}

// maxChanges is how many changes are kept of a work tree in which very many files differ. Those that are left out are still counted.
const maxChanges = 50_000

// changes returns the files that differ from the last commit, by path from the top; of very many files some, and how many it left out. A folder
// without tracked files is one entry whose path ends in a slash. born reports whether there is a commit.
func (g git) changes(ctx context.Context) (found map[string]*worktree.Change, born bool, left int, err error) {
	l := listing{found: map[string]*worktree.Change{}, born: true}
	err = g.each(ctx, l.take, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
		"--ignore-submodules=all", "--find-renames", "--no-ahead-behind", "--")
	return l.found, l.born, l.left, err
}

// listing reads the records of git status.
type listing struct {
	found   map[string]*worktree.Change
	born    bool
	left    int      // changes that were not kept
	renamed []string // the fields of an entry whose old path follows; nil: none
}

func (l *listing) take(record string) {
	if f := l.renamed; f != nil {
		l.renamed = nil
		l.note(renamed(f[0], f[8], record))
		return
	}
	kind, rest, _ := strings.Cut(record, " ")
	switch kind {
	case "#":
		if rest == "branch.oid (initial)" {
			l.born = false
		}
	case "?":
		l.note(rest, "untracked")
	case "1": // XY sub mH mI mW hH hI path
		if f := strings.SplitN(rest, " ", 8); len(f) == 8 {
			l.note(f[7], ordinary(f[0]))
		}
	case "2": // XY sub mH mI mW hH hI score path, and the old path as a record of its own
		if f := strings.SplitN(rest, " ", 9); len(f) == 9 {
			l.renamed = f
		}
	case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
		if f := strings.SplitN(rest, " ", 10); len(f) == 10 {
			l.note(f[9], "modified") // an unresolved conflict
		}
	}
}

// note enters a change. If a file was taken out of the index but not deleted, git reports it twice: as deleted, then as
// untracked. The second report counts.
func (l *listing) note(path, status string) {
	switch {
	case status == "":
	case len(l.found) >= maxChanges && l.found[path] == nil:
		l.left++
	default:
		l.found[path] = &worktree.Change{Path: path, Status: status}
	}
}

// ordinary returns the status of a file, compared with the last commit. xy is git's letter for the index and git's
// letter for the work tree. The status is "" if the file is neither in the commit nor in the work tree.
func ordinary(xy string) string {
	switch {
	case xy == "AD":
		return ""
	case strings.Contains(xy, "D"):
		return "deleted"
	case strings.Contains(xy, "A"):
		return "added"
	}
	return "modified"
}

// renamed returns the path and the status of a file that was renamed or copied, in the index or in the work tree.
func renamed(xy, path, old string) (string, string) {
	switch {
	case xy == "CD":
		return path, ""
	case xy[1:] == "D": // renamed and then deleted: the old path is missing
		return old, "deleted"
	case strings.Contains(xy, "C"):
		return path, "added"
	}
	return path, "renamed"
}

// countLines enters the number of lines of each file that changed since the last commit.
func (g git) countLines(ctx context.Context, changes map[string]*worktree.Change) error {
	if len(changes) == 0 {
		return nil
	}
	n := numstat{do: func(path, added, deleted string) {
		if c := changes[path]; c != nil && c.Status != "untracked" {
			c.Added, _ = strconv.Atoi(added) // "-" for a binary file
			c.Deleted, _ = strconv.Atoi(deleted)
		}
	}}
	return g.each(ctx, n.take, "diff", "--numstat", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all", "--no-relative", "HEAD", "--")
}

// numstat reads the records of a diff with --numstat and -z, and calls do with the path and the counts of each file.
type numstat struct {
	do      func(path, added, deleted string)
	counts  []string // of a renamed file whose paths follow
	follows int      // how many of them
}

func (n *numstat) take(record string) {
	if n.follows > 0 { // the old path, then the new one
		if n.follows--; n.follows == 0 {
			n.do(record, n.counts[0], n.counts[1])
		}
		return
	}
	f := strings.SplitN(record, "\t", 3)
	switch {
	case len(f) < 3:
	case f[2] == "":
		n.counts, n.follows = f, 2
	default:
		n.do(f[2], f[0], f[1])
	}
}

// maxCommits is how many commits committed looks at.
const maxCommits = 500

// committed returns the paths that commits since a time have changed. It looks at the newest maxCommits of those commits
// at most.
func (g git) committed(ctx context.Context, since time.Time) ([]string, error) {
	if since.IsZero() {
		return nil, nil
	}
	seen := map[string]bool{}
	err := g.each(ctx, func(path string) {
		if path != "" && len(seen) < maxChanges {
			seen[path] = true
		}
	}, "log", fmt.Sprintf("--since=@%d", since.Unix()), fmt.Sprintf("--max-count=%d", maxCommits),
		"--name-only", "-z", "--pretty=", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all", "--no-relative", "HEAD", "--")
	return slices.Sorted(maps.Keys(seen)), err
}

// inOrder returns the changes in order, with absolute paths.
func inOrder(top string, changes map[string]*worktree.Change) []worktree.Change {
	var out []worktree.Change
	for c := range maps.Values(changes) {
		c.Path = fromTop(top, c.Path)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b worktree.Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func absolute(top string, paths []string) []string {
	for i, path := range paths {
		paths[i] = fromTop(top, path)
	}
	return paths
}

// fromTop makes a path absolute that is relative to top. It keeps a slash at the path's end.
func fromTop(top, path string) string { return strings.TrimSuffix(top, "/") + "/" + path }
