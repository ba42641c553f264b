package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/understudyd/understudy/daemon/worktree"
)

// The limits of what is copied into a new tree.
const (
	maxIncludeFile = 64 << 10
	maxCopied      = 200_000 // files
	maxCopiedBytes = 4 << 30
)

// include copies the untracked files that worktree.IncludeFile names into the tree at a path. It overwrites what an earlier call has
// copied, because nobody has worked in the tree; with missing, it copies only what the tree does not have, and files that are alike, so that
// they count as copies again. It leaves out what the tree's
// branch has, and follows no link.
func (r repository) include(ctx context.Context, at string, missing bool) (copied []worktree.Copied, err error) {
	file := filepath.Join(r.dir, worktree.IncludeFile)
	fi, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !fi.Mode().IsRegular() || fi.Size() > maxIncludeFile:
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", file, maxIncludeFile)
	}
	names, err := r.included(ctx, file)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	from, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = to.Close() }()
	c := copier{ctx: ctx, from: from, to: to}
	for _, name := range names {
		if taken, err := r.tracked(ctx, at, name); err != nil {
			return nil, err
		} else if taken {
			continue
		}
		if _, err := to.Lstat(strings.TrimSuffix(name, "/")); err == nil && missing && !c.alike(name) {
			continue
		}
		one := worktree.Copied{Path: name}
		files, size := c.files, c.bytes
		if err := c.tree(strings.TrimSuffix(name, "/")); err != nil {
			return nil, fmt.Errorf("%s, which %s names, can't be copied: %w", name, worktree.IncludeFile, err)
		}
		one.Files, one.Bytes = c.files-files, c.bytes-size
		if one.Digest, err = digestOf(to, name); err != nil {
			return nil, err
		}
		copied = append(copied, one)
	}
	return copied, nil
}

// included returns the untracked files and folders that an include file names.
func (r repository) included(ctx context.Context, file string) (names []string, err error) {
	g, err := r.behind(ctx, r.at())
	if err != nil {
		return nil, err
	}
	defer g.close()
	err = g.each(ctx, func(name string) {
		if name != "" && filepath.IsLocal(name) && name != worktree.IncludeFile {
			names = append(names, name)
		}
	}, "ls-files", "--others", "--ignored", "--directory", "--exclude-from="+file, "-z")
	return names, err
}

// tracked reports whether the tree at a path has a tracked file of that name, or in the folder of that name.
func (r repository) tracked(ctx context.Context, at, name string) (bool, error) {
	admin, _ := r.admin(at)
	g := r.named(place{at, admin, r.common})
	g.env = append(g.env, "GIT_LITERAL_PATHSPECS=1")
	found := false
	err := g.each(ctx, func(string) { found = true }, "ls-files", "-z", "--", strings.TrimSuffix(name, "/"))
	return found, err
}

// copier copies files from one folder to another.
type copier struct {
	ctx      context.Context
	from, to *os.Root
	files    int
	bytes    int64
}

// tree copies a file or a folder. Sockets, pipes and devices are left out.
func (c *copier) tree(name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	fi, err := c.from.Lstat(name)
	if err != nil {
		return err
	}
	if err := c.to.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch mode := fi.Mode(); {
	case mode.IsDir():
		return c.folder(name, fi)
	case mode.IsRegular():
		return c.file(name, fi)
	case mode&fs.ModeSymlink != 0:
		to, err := c.from.Readlink(name)
		if err != nil {
			return err
		}
		_ = c.to.Remove(name) // what an earlier call has made
		return c.to.Symlink(to, name)
	}
	return nil
}

// alike reports whether both sides have the same small file.
func (c *copier) alike(name string) bool {
	const most = 1 << 20
	var texts [2][]byte
	for i, side := range []*os.Root{c.from, c.to} {
		if fi, err := side.Lstat(name); err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
			return false
		}
		text, err := side.ReadFile(name)
		if err != nil {
			return false
		}
		texts[i] = text
	}
	return bytes.Equal(texts[0], texts[1])
}

func (c *copier) folder(name string, fi fs.FileInfo) error {
	if err := c.to.MkdirAll(name, fi.Mode().Perm()|0o700); err != nil {
		return err
	}
	f, err := c.from.Open(name)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.tree(name + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) file(name string, fi fs.FileInfo) (err error) {
	c.files, c.bytes = c.files+1, c.bytes+fi.Size()
	if c.files > maxCopied || c.bytes > maxCopiedBytes {
		return fmt.Errorf("more than %d files or %d GB are too much: leave that out of %s", maxCopied, maxCopiedBytes>>30, worktree.IncludeFile)
	}
	in, err := c.from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0) // another program may make it a pipe meanwhile
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	_ = c.to.Remove(name) // what an earlier call has made
	out, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fi.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, fi.Size()))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.to.Chtimes(name, fi.ModTime(), fi.ModTime())
}

// digestOf returns a checksum of the names, kinds, sizes and dates in a file or a folder.
func digestOf(root *os.Root, name string) (string, error) {
	sum := sha256.New()
	err := digestTree(root, strings.TrimSuffix(name, "/"), sum)
	return hex.EncodeToString(sum.Sum(nil)[:16]), err
}

func digestTree(root *os.Root, name string, sum hash.Hash) error {
	fi, err := root.Lstat(name)
	if err != nil {
		return err
	}
	switch {
	case fi.IsDir():
		fmt.Fprintf(sum, "%q/\n", name)
		entries, err := fs.ReadDir(root.FS(), name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := digestTree(root, name+"/"+e.Name(), sum); err != nil {
				return err
			}
		}
	case fi.Mode().IsRegular():
		fmt.Fprintf(sum, "%q %d %d\n", name, fi.Size(), fi.ModTime().UnixNano())
	default:
		to, _ := root.Readlink(name)
		fmt.Fprintf(sum, "%q %s %q\n", name, fi.Mode().Type(), to)
	}
	return nil
}

// asCopied returns the entries of copied that are still as they were copied into the tree at a path.
func asCopied(at string, copied []worktree.Copied) (same []string) {
	if len(copied) == 0 {
		return nil
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	for _, c := range copied {
		if digest, err := digestOf(root, c.Path); err == nil && digest == c.Digest {
			same = append(same, c.Path)
		}
	}
	return same
}
