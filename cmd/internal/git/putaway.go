package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// maxKeptIgnored is how many bytes of ignored files are kept of a removed tree.
const maxKeptIgnored = 64 << 20

// putAway is a removal under way.
type putAway struct {
	repository
	in  worktree.Removal
	at  string // the path of the tree, with links resolved
	out *worktree.Removed
}

// Remove implements [worktree.Keeper]. If it keeps the tree, Kept is the end of a sentence whose subject is the tree. Besides a tree that holds
// work, Remove keeps a tree that is locked or in the middle of a rebase, a merge or the like, and one whose index or registration is gone,
// because git can't tell what is in it.
//
// First it makes a commit of all files in the tree, to which Removal.Ref leads; its parent is the commit of HEAD. Then it renames the tree,
// deletes it, and deletes the branch. So whatever a crash leaves, nothing takes a part of the tree for a tree with changes, and the next call
// finds the tree, or the reference.
func (k *Keeper) Remove(ctx context.Context, in worktree.Removal) (out worktree.Removed, err error) {
	at := realPath(in.Path)
	condemned := filepath.Join(filepath.Dir(at), ".removed-"+filepath.Base(at))
	if err := os.RemoveAll(condemned); err != nil {
		return out, fmt.Errorf("what is left of a work tree can't be deleted (%w): delete it by hand", err)
	}
	r, err := k.openOf(ctx, in.Dir, in.Path)
	none := errors.Is(err, worktree.ErrNone) || absent(in.Dir)
	if err != nil && none && absent(in.Path) {
		return out, nil // somebody has deleted both
	}
	if err != nil && none {
		err = k.movedError(in.Dir, in.Path)
	}
	if err != nil {
		return out, err
	}
	if absent(in.Dir) {
		out.Repository = r.dir
	}
	release, err := k.acquire(ctx, r.common)
	if err != nil {
		return out, err
	}
	defer release()
	found, err := r.look(at)
	if _, notOurs := errors.AsType[notOursError](err); notOurs {
		out.Kept = r.stranger()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	p := putAway{repository: r, in: in, at: at, out: &out}
	switch {
	case found == wholeTree && in.Discard:
		err = r.drop(ctx, at, condemned)
	case found == halfTree && holdsFiles(at) && !in.Discard:
		out.Kept = "git has lost track of what is in it (its index or its registration is gone)"
	case found == wholeTree:
		if out.Kept, err = p.keep(ctx); err == nil && out.Kept == "" {
			err = r.drop(ctx, at, condemned)
		}
	default:
		err = r.clear(ctx, found, at)
	}
	if err != nil || out.Kept != "" || in.Discard {
		return out, err
	}
	kept, err := r.commitOf(ctx, in.Ref)
	if out.Ref = kept != ""; err != nil || !in.DeleteBranch {
		return out, err
	}
	if kept, err = r.commitOf(ctx, in.Ref+"^"); err == nil {
		out.BranchDeleted, err = r.deleteBranch(ctx, in.Branch, kept)
	}
	return out, err
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// keep makes the reference to what the tree holds. It returns why the tree can't be removed, or "".
func (p *putAway) keep(ctx context.Context) (why string, err error) {
	tree, err := p.tree(ctx, p.at)
	if err != nil {
		return "", err
	}
	defer tree.close()
	if why := unfinished(tree.at.dir); why != "" {
		return why, nil
	}
	if why, err := tree.hidden(ctx); why != "" || err != nil {
		return why, err
	}
	h, err := tree.held(ctx, p.in.Copied)
	if err != nil {
		return "", err
	}
	if h.nested.n > 0 {
		return "it holds another git repository" + h.nested.names(), nil
	}
	head, err := tree.commitOf(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if head == "" {
		return "its branch has no commit", nil
	}
	on, err := tree.headBranch(ctx)
	if err != nil {
		return "", err
	}
	lone := 0
	if on == "" || p.in.DeleteBranch && on == p.in.Branch {
		if lone, err = tree.onlyHere(ctx, head, on); err != nil {
			return "", err
		}
	}
	small, large := sortIgnored(p.at, h.all)
	copies, _ := sortIgnored(p.at, h.copies) // what is too large is copied again
	kept := p.keptModules(p.in.Ref)
	var m modules
	var lost []string
	if absent(kept) { // else an earlier call has kept them
		if m, why, err = tree.modules(ctx); err == nil && why == "" {
			lost, why, err = m.lost(ctx)
		}
		if why != "" || err != nil {
			return why, err
		}
	}
	if !p.in.Force {
		if why := wouldLose(&h, lone, large, lost); why != "" {
			p.out.Holds = true
			return why, nil
		}
	}
	p.out.NotKept = large
	if err := m.repair(); err != nil {
		return "", err
	}
	if err := tree.snapshot(ctx, snapshot{head: head, ref: p.in.Ref, ignored: append(small, copies...),
		says: "The files of the work tree " + p.in.Path + " on branch " + p.in.Branch + " when it was removed"}); err != nil || len(lost) == 0 {
		return "", err
	}
	large, err = m.keep(ctx, kept)
	p.out.NotKept = append(p.out.NotKept, large...)
	return "", err
}

// wouldLose says what would be lost with the tree, beside parts; "": nothing.
func wouldLose(h *holding, commits int, large, parts []string) string {
	if h.uncommitted.n > 0 {
		parts = append(parts, h.uncommitted.counted("file")+" not committed"+h.uncommitted.names())
	}
	if h.ignored.n > 0 {
		said := words.Count(h.ignored.n, "ignored file or folder")
		if h.ignored.n > 1 {
			said = fmt.Sprintf("%d ignored files or folders", h.ignored.n)
		}
		parts = append(parts, said+h.ignored.names())
	}
	if commits > 0 {
		parts = append(parts, words.Count(commits, "commit")+" that no other branch and no remote has")
	}
	if len(parts) == 0 {
		return ""
	}
	why := "it holds " + strings.Join(parts, ", and ")
	if len(large) > 0 {
		var s sample
		for _, name := range large {
			s.add(name)
		}
		why += "; if it is removed all the same, this is too large to be kept:" + s.names()
	}
	return why
}

// sortIgnored divides ignored files and folders into those that are kept of a removed tree and those that are too large.
func sortIgnored(at string, names []string) (small, large []string) {
	left := int64(maxKeptIgnored)
	for _, name := range names {
		bytes, atLeast := sizeOf(filepath.Join(at, name))
		if atLeast || bytes > left {
			large = append(large, name)
			continue
		}
		left -= bytes
		small = append(small, name)
	}
	return small, large
}

// snapshot is a commit of all files of a tree.
type snapshot struct {
	head, ref, says string
	ignored         []string // ignored files that it has, too
}

// snapshot makes a commit of all files of a tree, and the reference to it. It works in an index of its own, so the tree stays as it is.
func (s shield) snapshot(ctx context.Context, in snapshot) error {
	index, err := os.CreateTemp("", "understudy-index-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(index.Name()) }()
	from, err := os.Open(filepath.Join(s.at.dir, "index"))
	if err == nil {
		_, err = io.Copy(index, from)
		err = errors.Join(err, from.Close())
	}
	if err = errors.Join(err, index.Close()); err != nil {
		return err
	}
	tree, ignored := s.git, in.ignored
	tree.env = append(tree.env[:len(tree.env):len(tree.env)], "GIT_INDEX_FILE="+index.Name(), "GIT_LITERAL_PATHSPECS=1",
		"GIT_AUTHOR_NAME=understudy", "GIT_AUTHOR_EMAIL=understudy@localhost", "GIT_COMMITTER_NAME=understudy", "GIT_COMMITTER_EMAIL=understudy@localhost")
	if _, err := tree.output(ctx, "add", "--all", "--", "."); err != nil {
		return err
	}
	for len(ignored) > 0 {
		n := min(len(ignored), 200)
		if _, err := tree.output(ctx, append([]string{"add", "--force", "--"}, ignored[:n]...)...); err != nil {
			return err
		}
		ignored = ignored[n:]
	}
	files, err := tree.line(ctx, "write-tree")
	if err != nil {
		return err
	}
	commit, err := tree.line(ctx, "commit-tree", files, "-p", in.head, "-m", in.says)
	if err != nil {
		return err
	}
	_, err = tree.output(ctx, "update-ref", in.ref, commit)
	return err
}
