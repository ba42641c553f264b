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

// Keeper implements [worktree.Keeper] with the git command.
type Keeper struct{ *Trees }

// Plan implements [worktree.Keeper].
func (k Keeper) Plan(ctx context.Context, s worktree.Spec) (p worktree.Plan, err error) {
	r, err := k.openFor(ctx, s.Dir, s.Branch)
	if err != nil {
		return p, err
	}
	p.Repository, p.Workdir = r.dir, filepath.Join(s.Path, r.prefix)
	there, err := r.commit(ctx, "refs/heads/"+s.Branch)
	if err != nil {
		return p, err
	}
	if there {
		err = r.planOld(ctx, s, &p)
	} else {
		err = r.planNew(ctx, s, &p)
	}
	if err != nil {
		return p, err
	}
	tree, err := r.behind(ctx, r.dir, r.gitDir, r.common)
	if err != nil {
		return p, err
	}
	defer tree.close()
	changes, _, err := tree.changes(ctx)
	p.Uncommitted = len(changes)
	return p, err
}

// planOld plans a tree on a branch that exists.
func (r repository) planOld(ctx context.Context, s worktree.Spec, p *worktree.Plan) error {
	if s.From != "" {
		return fmt.Errorf("the branch %s exists already, so it can't begin at %.80s: leave that out, or name another branch", s.Branch, s.From)
	}
	place, err := r.checkedOut(ctx, s.Branch)
	if err != nil {
		return err
	}
	if place != "" {
		return r.elsewhere(s.Branch, place)
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
	from := s.From
	if strings.HasPrefix(from, "-") || strings.ContainsFunc(from, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return r.noCommit(from)
	}
	if from == "" {
		from = "HEAD"
		if p.Base, err = r.headBranch(ctx); err != nil {
			return err
		}
	}
	if p.BaseCommit, err = r.commitOf(ctx, from); err != nil {
		return err
	}
	if p.BaseCommit == "" {
		return r.noCommit(s.From)
	}
	if s.From != "" {
		if is, err := r.commit(ctx, "refs/heads/"+s.From); err != nil {
			return err
		} else if is {
			p.Base = s.From
		}
	}
	for above := filepath.Dir(s.Branch); above != "."; above = filepath.Dir(above) {
		if is, err := r.commit(ctx, "refs/heads/"+above); err != nil || is {
			return errors.Join(err, nested(s.Branch))
		}
	}
	below, err := r.line(ctx, "for-each-ref", "--count=1", "refs/heads/"+s.Branch+"/")
	if err == nil && below != "" {
		err = nested(s.Branch)
	}
	return err
}

// commitOf returns the id of a commit; "": there is none of that name.
func (g git) commitOf(ctx context.Context, name string) (string, error) {
	out := proc.Limited{Max: gitOutput}
	stderr, exit, err := g.run(ctx, &out, "rev-parse", "--quiet", "--verify", name+"^{commit}")
	if err == nil && exit > 1 && !strings.Contains(stderr, "eeded a single revision") {
		err = g.refused("rev-parse", stderr, exit)
	}
	if err != nil || exit != 0 {
		return "", err
	}
	return strings.TrimSpace(string(out.Bytes())), nil
}

// checkedOut returns the work tree in which a branch is checked out; "": none.
func (r repository) checkedOut(ctx context.Context, branch string) (place string, err error) {
	at := ""
	err = r.each(ctx, func(record string) {
		if path, ok := strings.CutPrefix(record, "worktree "); ok {
			at = path
		}
		if record == "branch refs/heads/"+branch {
			place = at
		}
	}, "worktree", "list", "--porcelain", "-z")
	return place, err
}

// Make implements [worktree.Keeper].
func (k Keeper) Make(ctx context.Context, s worktree.Spec) (m worktree.Made, err error) {
	r, err := k.openFor(ctx, s.Dir, s.Branch)
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
	if m.Workdir, err = r.add(ctx, s); err != nil {
		return m, err
	}
	if s.Kept != "" {
		if err := r.restore(ctx, s); err != nil {
			return m, err
		}
	}
	m.Copied, err = r.include(ctx, s.Path, s.Kept != "")
	return m, err
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
	at := r.git
	at.dir, at.limit = realPath(s.Path), checkoutLimit
	g, err := at.shielded(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	for _, args := range [][]string{{"reset", "--hard", "--quiet", "--no-recurse-submodules"}, {"read-tree", "--reset", "-u", s.Kept}, {"reset", "--mixed", "--quiet", "HEAD"}} {
		stderr, exit, err := g.run(ctx, io.Discard, args...)
		if err == nil && exit != 0 {
			err = fmt.Errorf("git could not put the files of %s into %s (%s)", s.Kept, s.Path, complaint(stderr, exit))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
