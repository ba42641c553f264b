package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Plan implements [worktree.Keeper].
func (k *Keeper) Plan(ctx context.Context, s worktree.Spec) (p worktree.Plan, err error) {
	r, err := k.openFor(ctx, s.Dir, s.Branch)
	if err != nil {
		return p, err
	}
	p.Repository, p.Workdir = r.dir, filepath.Join(s.Path, r.prefix)
	tip, err := r.commitOf(ctx, "refs/heads/"+s.Branch)
	if err != nil {
		return p, err
	}
	if tip != "" {
		err = r.planOld(ctx, s, &p)
	} else {
		err = r.planNew(ctx, s, &p)
	}
	if err != nil {
		return p, err
	}
	tree, err := r.behind(ctx, r.at())
	if err != nil {
		return p, err
	}
	defer tree.close()
	p.Uncommitted, p.Counting = tree.uncommittedFiles(ctx)
	start := p.BaseCommit
	if tip != "" {
		start = "refs/heads/" + s.Branch
	}
	p.Submodules = tree.submodules(ctx, start)
	return p, ctx.Err()
}

// uncommittedFiles counts the files that differ from the last commit or are not in it. If git can't count them within its time, problem says
// why, and n are those that were counted.
func (g git) uncommittedFiles(ctx context.Context) (n int, problem string) {
	g.limit = gitLimit
	err := g.each(ctx, func(string) { n++ }, "status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames", "--")
	if err != nil {
		problem = err.Error()
	}
	return n, problem
}

// planOld plans a tree on a branch that exists.
func (r repository) planOld(ctx context.Context, s worktree.Spec, p *worktree.Plan) error {
	if s.From != "" {
		return fmt.Errorf("the branch %s exists already, so it can't begin at %.80s: leave that out, or name another branch", s.Branch, s.From)
	}
	err := r.free(ctx, s.Branch)
	if err != nil {
		return err
	}
	if p.Base, err = r.headBranch(ctx); err != nil {
		return err
	}
	out := proc.Limited{Max: gitOutput}
	if _, _, err := r.run(ctx, &out, "merge-base", "HEAD", "refs/heads/"+s.Branch); err != nil {
		return err
	}
	p.BaseCommit = strings.TrimSpace(string(out.Bytes())) // "": the histories have nothing in common
	return nil
}

// planNew plans a tree on a new branch.
func (r repository) planNew(ctx context.Context, s worktree.Spec, p *worktree.Plan) (err error) {
	p.NewBranch = true
	if err := r.free(ctx, s.Branch); err != nil {
		return err
	}
	begin, err := r.beginning(ctx, s.Branch, s.From)
	if err != nil {
		return err
	}
	p.Base, p.BaseCommit = begin.base, begin.commit
	for above := filepath.Dir(s.Branch); above != "."; above = filepath.Dir(above) {
		if is, err := r.commitOf(ctx, "refs/heads/"+above); err != nil || is != "" {
			return errors.Join(err, nested(s.Branch))
		}
	}
	below, err := r.line(ctx, "for-each-ref", "--count=1", "refs/heads/"+s.Branch+"/")
	if err == nil && below != "" {
		err = nested(s.Branch)
	}
	return err
}

// Make implements [worktree.Keeper]. If the folder that holds the path is missing, Make makes it, readable for this user only.
func (k *Keeper) Make(ctx context.Context, s worktree.Spec) (m worktree.Made, err error) {
	r, err := k.openFor(ctx, s.Dir, s.Branch)
	if err != nil && s.Kept != "" && absent(s.Dir) {
		err = k.movedError(s.Dir, s.Path)
	}
	if err != nil {
		return m, err
	}
	release, err := k.acquire(ctx, r.common)
	if err != nil {
		return m, err
	}
	defer release()
	if s.Kept != "" {
		if err := r.restorable(ctx, &s); err != nil {
			return m, err
		}
	}
	workdir, undo, err := r.add(ctx, s)
	m.Workdir = workdir
	if err == nil && s.Kept != "" {
		err = r.restore(ctx, s)
	}
	if err == nil {
		m.Copied, err = r.include(ctx, s.Path, s.Kept != "")
		m.Submodules = r.submodules(ctx, "refs/heads/"+s.Branch)
	}
	return m, unless(ctx, err, undo)
}

// restorable refuses a branch that has moved since the tree was removed. It sets where the branch begins if it is gone.
func (r repository) restorable(ctx context.Context, s *worktree.Spec) error {
	kept, err := r.commitOf(ctx, s.Kept+"^")
	if err != nil {
		return err
	}
	if kept == "" {
		return fmt.Errorf("the repository %s has no %s any more, which kept the files of the tree: somebody has deleted it", r.dir, s.Kept)
	}
	tip, err := r.commitOf(ctx, "refs/heads/"+s.Branch)
	if err == nil && tip != "" && tip != kept {
		err = fmt.Errorf("the branch %s has moved since the tree was removed: look at the files with `git show --stat %s`, and take what you want into another tree", s.Branch, s.Kept)
	}
	s.From = kept
	return err
}

// restore puts the files that were kept of a removed tree into the tree that was made again. They are as they were: those that were not
// committed are not committed.
func (r repository) restore(ctx context.Context, s worktree.Spec) error {
	g, err := r.tree(ctx, realPath(s.Path))
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.put(ctx, s.Kept); err != nil {
		return err
	}
	return r.bringBack(ctx, s.Kept, realPath(s.Path))
}

// put puts the files of a commit into the work tree, and leaves those uncommitted that HEAD does not have.
func (g git) put(ctx context.Context, kept string) error {
	for _, args := range [][]string{{"reset", "--hard", "--quiet", "--no-recurse-submodules"}, {"read-tree", "--reset", "-u", kept}, {"reset", "--mixed", "--quiet", "HEAD"}} {
		stderr, exit, err := g.run(ctx, io.Discard, args...)
		if err == nil && exit != 0 {
			err = fmt.Errorf("git could not put the files of %s into %s (%s)", kept, g.dir, complaint(stderr, exit))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
