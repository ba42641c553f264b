package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// standing is the state of the path of a work tree.
type standing int

const (
	noTree    standing = iota // nothing is there, or an empty folder
	halfTree                  // a work tree that is not completely made
	wholeTree                 // a work tree whose files were all checked out at some time
)

// notOursError means that a path holds something that is not a work tree of the repository, so this package must not
// touch it.
type notOursError struct{ path, repository string }

func (e notOursError) Error() string {
	return fmt.Sprintf("%s is there and is no work tree of the repository %s: move it away", e.path, e.repository)
}

// stranger says why what stands at the path of a work tree is not removed: it is none of the repository's.
func (r repository) stranger() string {
	return "it is no work tree of the repository " + r.dir + " (see `git worktree list` there)"
}

// look finds out the state of a path whose folders are not links. If the path holds something that is not a work tree of
// the repository, look returns a notOursError.
func (r repository) look(path string) (standing, error) {
	notOurs := notOursError{path, r.dir}
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noTree, nil
	case err != nil:
		return noTree, err
	case !fi.IsDir():
		return noTree, notOurs
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return noTree, err
	}
	fi, err = os.Lstat(filepath.Join(path, ".git"))
	if err != nil || !fi.Mode().IsRegular() {
		return noTree, notOurs
	}
	alone := len(entries) == 1 // the tree holds .git and no files
	admin, ours := r.admin(path)
	switch {
	case ours && registered(admin, path):
		if _, err := os.Lstat(filepath.Join(admin, "index")); errors.Is(err, fs.ErrNotExist) {
			return halfTree, nil
		}
		return wholeTree, nil
	case alone && (ours || fi.Size() == 0): // git has unregistered the tree, or has not written .git yet
		return halfTree, nil
	}
	return noTree, notOurs
}

// admin returns the folder that git keeps for the work tree at path, and whether this repository has or had that folder.
func (r repository) admin(path string) (string, bool) {
	admin, ok := pointer(filepath.Join(path, ".git"), "gitdir: ")
	if !ok {
		return "", false
	}
	admin = from(path, admin)
	return admin, realPath(admin) == filepath.Join(r.common, "worktrees", filepath.Base(admin))
}

// registered reports whether git keeps the folder admin for the work tree at path.
func registered(admin, path string) bool {
	dotGit, ok := pointer(filepath.Join(admin, "gitdir"), "")
	return ok && realPath(from(admin, dotGit)) == filepath.Join(path, ".git")
}

// registers reports whether git keeps a folder for the work tree at path.
func (r repository) registers(path string) bool {
	known, _ := os.ReadDir(filepath.Join(r.common, "worktrees"))
	return slices.ContainsFunc(known, func(e fs.DirEntry) bool { return registered(filepath.Join(r.common, "worktrees", e.Name()), path) })
}

// pointer reads the path in a file of one line, with which git points to another file.
func pointer(file, prefix string) (string, bool) {
	text, err := small(file)
	if err != nil {
		return "", false
	}
	to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), prefix)
	return to, ok && to != ""
}

// from makes path absolute. If path is relative, it is relative to dir.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// realPath resolves the links in a path's folder, as git does. The path itself need not exist.
func realPath(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, filepath.Base(path))
}

// clear deletes a half-made tree or an empty folder, and makes git forget the tree.
func (r repository) clear(ctx context.Context, found standing, path string) error {
	if found == halfTree {
		if err := discard(path); err != nil {
			return err
		}
	} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.unregister(ctx, path)
}

// discard deletes a tree, and its .git last. So if a crash interrupts discard, look still recognises the rest as a
// half-made tree.
func discard(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(path)
}

// unregister makes git forget the deleted tree of a path, and no other tree. It unlocks the tree first, because git
// locks a tree while it makes the tree, and a git that was killed leaves the lock. It works behind a shield, because an
// agent may have put a tree there again, and git looks for changes in that tree.
func (r repository) unregister(ctx context.Context, path string) error {
	known, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(known) == 0 {
		return nil
	}
	g, err := r.behind(ctx, r.at())
	if err != nil {
		return err
	}
	defer g.close()
	if _, _, err := g.run(ctx, io.Discard, "worktree", "unlock", "--", path); err != nil {
		return err
	}
	stderr, exit, err := g.run(ctx, io.Discard, "worktree", "remove", "--", path)
	if err == nil && exit != 0 && !strings.Contains(stderr, "is not a working tree") {
		err = g.refused("worktree", stderr, exit)
	}
	return err
}
