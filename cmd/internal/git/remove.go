package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
)

// Remove implements [worktree.Trees]. If it keeps the tree, kept is the end of a sentence whose subject is the tree.
// Besides a tree with uncommitted changes, Remove keeps:
//
//   - a tree that holds commits that no branch or tag holds, files that git is told not to look at, or submodules with such work;
//   - a tree that is locked or in the middle of a rebase, a merge or the like;
//   - a tree whose index or registration is gone, because git cannot tell what is in it.
//
// It renames the tree before it deletes the tree. So if a crash leaves a part of the tree, nothing takes that part for a
// tree with changes, and the next Remove of the path deletes it.
func (t *Trees) Remove(ctx context.Context, dir, path string) (kept string, err error) {
	return t.remove(ctx, dir, path, false)
}

// Discard implements [worktree.Trees].
func (t *Trees) Discard(ctx context.Context, dir, path string) error {
	kept, err := t.remove(ctx, dir, path, true)
	if err == nil && kept != "" {
		err = fmt.Errorf("%s stays: %s", path, kept)
	}
	return err
}

// remove does the work of Remove and, with discarding, of Discard.
func (t *Trees) remove(ctx context.Context, dir, path string, discarding bool) (kept string, err error) {
	at := realPath(path)
	condemned := filepath.Join(filepath.Dir(at), ".removed-"+filepath.Base(at))
	if err := os.RemoveAll(condemned); err != nil {
		return "", fmt.Errorf("what is left of a work tree can't be deleted (%w): delete it by hand", err)
	}
	r, err := t.openOf(ctx, dir, path)
	if err != nil {
		none := errors.Is(err, worktree.ErrNone) || absent(dir)
		if none && absent(at) {
			return "", nil // there is nothing to remove: neither the tree nor a repository that may know about it exists
		}
		if none {
			err = t.movedError(dir, path)
		}
		return "", err
	}
	release, err := t.acquire(ctx, r.common)
	if err != nil {
		return "", err
	}
	defer release()
	found, err := r.look(at)
	_, notOurs := errors.AsType[notOursError](err)
	switch {
	case notOurs:
		return r.stranger(), nil
	case err != nil:
		return "", err
	case found == halfTree && !discarding && holdsFiles(at):
		return "git has lost track of what is in it (its index or its registration is gone)", nil
	case found != wholeTree:
		return "", r.clear(ctx, found, at)
	}
	if discarding {
		return "", r.drop(ctx, at, condemned)
	}
	if kept, err = r.holds(ctx, at); kept != "" || err != nil {
		return kept, err
	}
	return "", r.drop(ctx, at, condemned)
}

// drop renames the tree at a path and then deletes it.
func (r repository) drop(ctx context.Context, at, condemned string) error {
	if err := os.Rename(at, condemned); err != nil {
		return err
	}
	if err := r.unregister(ctx, at); err != nil {
		return err
	}
	return os.RemoveAll(condemned)
}

// holdsFiles reports whether a folder holds more than .git. It returns true if the folder can't be read.
func holdsFiles(path string) bool {
	entries, err := os.ReadDir(path)
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != ".git" })
}

// holds returns what would be lost with the tree at path, or why git would refuse to remove the tree. It returns "" if
// the tree can be deleted.
func (r repository) holds(ctx context.Context, path string) (string, error) {
	tree, err := r.tree(ctx, path)
	if err != nil {
		return "", err
	}
	defer tree.close()
	if why := unfinished(tree.at.dir); why != "" {
		return why, nil
	}
	for _, look := range []func(context.Context) (string, error){tree.hidden, tree.uncommitted, tree.unheld, tree.inModules} {
		if why, err := look(ctx); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// inModules looks for what would be lost with the submodules of a tree.
func (s shield) inModules(ctx context.Context) (string, error) {
	m, why, err := s.modules(ctx)
	if why != "" || err != nil {
		return why, err
	}
	parts, why, err := m.lost(ctx)
	if len(parts) > 0 {
		why = "it holds " + strings.Join(parts, ", and ")
	}
	return why, err
}

// operations are the files in git's own folder for a work tree. Each shows that the tree is locked or an operation is
// under way.
var operations = []struct{ file, kept string }{
	{"locked", "it is locked (see `git worktree list`)"},
	{"rebase-merge", "it is in the middle of a rebase"},
	{"rebase-apply", "it is in the middle of a rebase or of `git am`"},
	{"MERGE_HEAD", "it is in the middle of a merge"},
	{"CHERRY_PICK_HEAD", "it is in the middle of a cherry-pick"},
	{"REVERT_HEAD", "it is in the middle of a revert"},
	{"sequencer", "it is in the middle of a cherry-pick or a revert"},
	{"BISECT_LOG", "it is in the middle of a bisect"},
}

// unfinished says which of the operations is under way in a tree. It returns "" if there is none.
func unfinished(admin string) string {
	for _, op := range operations {
		if _, err := os.Lstat(filepath.Join(admin, op.file)); !errors.Is(err, fs.ErrNotExist) {
			return op.kept
		}
	}
	return ""
}

// hidden looks for files that git is told not to look at (assume-unchanged, skip-worktree). git status would not show them.
func (g git) hidden(ctx context.Context) (string, error) {
	var unseen sample
	err := g.each(ctx, func(record string) { // tag mode object stage TAB path
		about, path, ok := strings.Cut(record, "\t")
		if !ok || about == "" {
			return
		}
		full := filepath.Join(g.dir, path)
		tag, mode, _ := strings.Cut(about, " ")
		if strings.HasPrefix(mode, "160000 ") { // see [modules]
			return
		}
		if tag == "S" || tag[0] >= 'a' {
			if _, err := os.Lstat(full); err == nil {
				unseen.add(path)
			}
		}
	}, "ls-files", "-v", "-s", "-z")
	switch {
	case err != nil:
		return "", err
	case unseen.n > 0:
		return "it holds " + unseen.counted("file") + " that git is told not to look at" + unseen.names(), nil
	}
	return "", nil
}

// uncommitted looks for files that differ from the last commit or are not in it. For a submodule it compares only the
// commit; see inModules.
func (g git) uncommitted(ctx context.Context) (string, error) {
	var found sample
	err := g.each(ctx, func(record string) { // XY path
		if len(record) > 3 {
			found.add(record[3:])
		}
	}, "status", "--porcelain", "-z", "--ignored", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames", "--")
	if err != nil || found.n == 0 {
		return "", err
	}
	are := " that are not committed"
	if found.n == 1 {
		are = " that is not committed"
	}
	return "it holds " + found.counted("file") + are + found.names(), nil
}

// unheld looks for commits that HEAD leads to but no branch or tag does.
func (g git) unheld(ctx context.Context) (string, error) {
	if on, err := g.headBranch(ctx); on != "" || err != nil {
		return "", err
	}
	n, err := g.line(ctx, "rev-list", "--count", "HEAD", "--not", "--branches", "--tags", "--remotes", "--")
	if err != nil || n == "0" {
		return "", err
	}
	count, err := strconv.Atoi(n)
	if err != nil {
		return "", fmt.Errorf("git rev-list: %w", err)
	}
	return "it holds " + words.Count(count, "commit") + " that no branch does", nil
}

// sample counts names, and keeps the first few of them.
type sample struct {
	n     int
	first []string
	most  int // how many it keeps; 0: sampled
}

const sampled = 3

func (s *sample) add(name string) {
	if s.n++; s.n <= cmp.Or(s.most, sampled) {
		s.first = append(s.first, name)
	}
}

func (s *sample) counted(thing string) string { return words.Count(s.n, thing) }

// names lists the kept names in brackets. It quotes a name if [strconv.Quote] changes the name: the name has a quote, a
// backslash, or a character that would not show.
func (s *sample) names() string {
	var shown []string
	for _, name := range s.first[:min(len(s.first), sampled)] {
		if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
			name = quoted
		}
		shown = append(shown, name)
	}
	return " (" + words.List(shown, s.n) + ")"
}
