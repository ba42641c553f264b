package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/worktree"
)

// The limits of a look at a tree.
const (
	lookTime  = 5 * time.Second
	maxWalked = 200_000 // files whose sizes are added up
	walkTime  = time.Second
)

// Look implements [worktree.Keeper].
func (k *Keeper) Look(ctx context.Context, p worktree.Place) (l worktree.Look) {
	slow := fmt.Errorf("git took more than %s in %s: see why `git status` is slow there", lookTime, p.Path)
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, slow)
	defer cancel()
	if _, err := os.Lstat(p.Path); errors.Is(err, fs.ErrNotExist) {
		l.Gone = true
		return l
	}
	r, err := k.openTree(ctx, p.Path)
	if err == nil {
		err = r.state(ctx, p, &l)
	}
	if err != nil {
		l.Problem, l.Unreadable = err.Error(), true
	}
	l.Bytes, l.AtLeast = sizeOf(p.Path)
	return l
}

// state fills in what git tells of the tree that r was opened by.
func (r repository) state(ctx context.Context, p worktree.Place, l *worktree.Look) (err error) {
	if l.Branch, err = r.headBranch(ctx); err != nil {
		return err
	}
	l.Busy = unfinished(r.gitDir)
	tree, err := r.behind(ctx, r.at())
	if err != nil {
		return err
	}
	defer tree.close()
	h, err := tree.held(ctx, p.Copied)
	if err != nil {
		return err
	}
	l.Uncommitted, l.UncommittedCount = h.uncommitted.first, h.uncommitted.n
	l.Ignored, l.IgnoredCount = h.ignored.first, h.ignored.n
	if l.Commit, err = tree.commitOf(ctx, "HEAD"); err != nil || l.Commit == "" {
		return err
	}
	at, err := tree.line(ctx, "log", "-1", "--no-show-signature", "--pretty=%ct", l.Commit, "--")
	if err != nil {
		return err
	}
	if seconds, err := strconv.ParseInt(at, 10, 64); err == nil {
		l.CommitAt = time.Unix(seconds, 0).UTC()
	}
	if l.Alone, err = tree.onlyHere(ctx, l.Commit, l.Branch); err != nil || p.Base == "" {
		return err
	}
	base, err := tree.commitOf(ctx, "refs/heads/"+p.Base)
	if l.BaseKnown = base != ""; err != nil || !l.BaseKnown {
		return err
	}
	counts, err := tree.line(ctx, "rev-list", "--left-right", "--count", "refs/heads/"+p.Base+"..."+l.Commit, "--")
	if err == nil {
		_, err = fmt.Sscanf(counts, "%d\t%d", &l.Behind, &l.Ahead)
	}
	return err
}

// onlyHere counts the commits that a commit leads to and that no branch but the named one, no tag and no remote does.
func (g git) onlyHere(ctx context.Context, commit, branch string) (int, error) {
	args := []string{"rev-list", "--count", commit, "--not"}
	if branch != "" {
		args = append(args, "--exclude="+branch)
	}
	n, err := g.line(ctx, append(args, "--branches", "--tags", "--remotes", "--")...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(n)
}

// holding is what a tree holds that is in no commit.
type holding struct {
	uncommitted sample
	ignored     sample // without what was copied into the tree and is as it was
	all         []string
	nested      sample   // folders of other repositories
	copies      []string // what was copied into the tree and is as it was
}

// held looks for files that differ from the last commit or are not in it.
func (g git) held(ctx context.Context, copied []worktree.Copied) (h holding, err error) {
	same := asCopied(g.dir, copied)
	h.copies = same
	h.uncommitted.most, h.ignored.most = worktree.MaxListedFiles, worktree.MaxListedFiles
	err = g.each(ctx, func(record string) { // XY path
		if len(record) <= 3 {
			return
		}
		kind, path := record[:2], record[3:]
		for _, c := range same {
			if path == c || strings.HasSuffix(c, "/") && strings.HasPrefix(path, c) {
				return
			}
		}
		switch {
		case kind == "!!":
			h.ignored.add(path)
			h.all = append(h.all, path)
		case kind == "??" && strings.HasSuffix(path, "/"):
			h.nested.add(path)
			h.uncommitted.add(path)
		default:
			h.uncommitted.add(path)
		}
	}, "status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames", "--")
	return h, err
}

// sizeOf adds up the sizes of the files below a folder. atLeast reports whether it has left some out.
func sizeOf(dir string) (bytes int64, atLeast bool) {
	n, until := 0, time.Now().Add(walkTime)
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if n++; n > maxWalked || n%1000 == 0 && time.Now().After(until) {
			return fs.SkipAll
		}
		if err == nil && e.Type().IsRegular() {
			if fi, err := e.Info(); err == nil {
				bytes += fi.Size()
			}
		}
		return nil
	})
	return bytes, err != nil || n > maxWalked || time.Now().After(until)
}
