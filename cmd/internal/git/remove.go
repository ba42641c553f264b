package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
)

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
