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
		if _, err := child.LookPath("git", env); err != nil {
			return worktree.Tree{}, worktree.ErrNone
		}
		if fi, err := os.Stat(q.Dir); err != nil || !fi.IsDir() {
			return worktree.Tree{}, fmt.Errorf("the working directory %s is gone: make it again", q.Dir)
		}
		if outside(q.Dir) {
			return worktree.Tree{}, worktree.ErrNone
		}
		g := git{env: env, dir: q.Dir}
		return g.worktree(ctx, q)
	}
}

// outside reports whether git would certainly find no repository in a folder or above it. It saves the start of git
// where agents do not work in a repository. In each of these folders it looks, as git does, for .git, and for the HEAD
// of a bare repository.
func outside(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return false
	}
	for above := ""; dir != above; above, dir = dir, filepath.Dir(dir) {
		for _, name := range []string{".git", "HEAD"} {
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
	changes, born, err := g.changes(ctx)
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

// changes returns the files that differ from the last commit, by path from the top. A folder without tracked files is
// one entry whose path ends in a slash. born reports whether there is a commit.
func (g git) changes(ctx context.Context) (found map[string]*worktree.Change, born bool, err error) {
	out, err := g.output(ctx, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
		"--ignore-submodules=all", "--find-renames", "--no-ahead-behind", "--")
	if err != nil {
		return nil, false, err
	}
	found = map[string]*worktree.Change{}
	born = true
	for records := split(out); len(records) > 0; records = records[1:] {
		kind, rest, _ := strings.Cut(records[0], " ")
		switch kind {
		case "#":
			if rest == "branch.oid (initial)" {
				born = false
			}
		case "?":
			note(found, rest, "untracked")
		case "1": // XY sub mH mI mW hH hI path
			if f := strings.SplitN(rest, " ", 8); len(f) == 8 {
				note(found, f[7], ordinary(f[0]))
			}
		case "2": // XY sub mH mI mW hH hI score path, and the old path as a record of its own
			if f := strings.SplitN(rest, " ", 9); len(f) == 9 && len(records) > 1 {
				records = records[1:]
				path, status := renamed(f[0], f[8], records[0])
				note(found, path, status)
			}
		case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
			if f := strings.SplitN(rest, " ", 10); len(f) == 10 {
				note(found, f[9], "modified") // an unresolved conflict
			}
		}
	}
	return found, born, nil
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

// note enters a change. If a file was taken out of the index but not deleted, git reports it twice: as deleted, then as
// untracked. The second report counts.
func note(found map[string]*worktree.Change, path, status string) {
	if status != "" {
		found[path] = &worktree.Change{Path: path, Status: status}
	}
}

// countLines enters the number of lines of each file that changed since the last commit.
func (g git) countLines(ctx context.Context, changes map[string]*worktree.Change) error {
	if len(changes) == 0 {
		return nil
	}
	out, err := g.output(ctx, "diff", "--numstat", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all", "--no-relative", "HEAD", "--")
	if err != nil {
		return err
	}
	for records := split(out); len(records) > 0; records = records[1:] {
		f := strings.SplitN(records[0], "\t", 3)
		if len(f) < 3 {
			continue
		}
		path := f[2]
		if path == "" && len(records) > 2 { // a rename: the old and the new path follow
			path, records = records[2], records[2:]
		}
		if c := changes[path]; c != nil && c.Status != "untracked" {
			c.Added, _ = strconv.Atoi(f[0]) // "-" for a binary file
			c.Deleted, _ = strconv.Atoi(f[1])
		}
	}
	return nil
}

// maxCommits is how many commits committed looks at.
const maxCommits = 500

// committed returns the paths that commits since a time have changed. It looks at the newest maxCommits of those commits
// at most.
func (g git) committed(ctx context.Context, since time.Time) ([]string, error) {
	if since.IsZero() {
		return nil, nil
	}
	out, err := g.output(ctx, "log", fmt.Sprintf("--since=@%d", since.Unix()), fmt.Sprintf("--max-count=%d", maxCommits),
		"--name-only", "-z", "--pretty=", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all", "--no-relative", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	paths := slices.DeleteFunc(split(out), func(path string) bool { return path == "" })
	slices.Sort(paths)
	return slices.Compact(paths), nil
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
