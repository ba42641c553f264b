package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/understudyd/understudy/data/trust"
)

// folders are the folders that Open makes. Only their owner may enter them.
var folders = []string{"personas", "pipelines", "spool", "run", "run/launch", "run/agent"}

// Open returns the data directory at root. It makes the directory, its parents and its folders if they are missing. It
// refuses a folder that is a symbolic link, belongs to another user or can be written by others, because sockets,
// secrets and prompts are stored there. The error is a sentence for the operator.
func Open(root string) (Dir, error) {
	if root == "" {
		return Dir{}, errors.New("the data directory has no name: name a folder with --data")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return Dir{}, fmt.Errorf("data directory %s: %w", root, err)
	}
	euid := os.Geteuid()
	if err := makeRoot(abs, euid); err != nil {
		return Dir{}, err
	}
	dir, err := os.OpenRoot(abs)
	if err != nil {
		return Dir{}, fmt.Errorf("data directory: %w", err)
	}
	defer dir.Close()
	for _, name := range folders {
		if err := makeFolder(dir, name, euid); err != nil {
			return Dir{}, err
		}
	}
	d := Dir{root: abs}
	for _, path := range []string{d.Postgres(), d.Lock()} { // others make them, and follow what is there
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return Dir{}, isLink(path)
		}
	}
	return d, nil
}

// makeRoot makes the data directory or checks the existing one. If the daemon runs as root, other users can pass through
// the directory, because PostgreSQL refuses to run as root, and its account must reach <data>/postgres.
func makeRoot(path string, euid int) error {
	parents, self := fs.FileMode(0o700), fs.FileMode(0o700)
	if euid == 0 {
		parents, self = 0o755, 0o711
	}
	if err := makeParents(filepath.Dir(path), parents); err != nil {
		return fmt.Errorf("data directory %s: %w: choose another with --data", path, err)
	}
	err := mkdir(path, self)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("data directory %s: %w: choose another with --data", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := check(path, info, euid); err != nil {
		return err
	}
	if err := trust.Check(path); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if missing := self &^ info.Mode().Perm(); missing != 0 {
		if err := os.Chmod(path, info.Mode().Perm()|self); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	return nil
}

// makeParents does the same as os.MkdirAll, but with exactly the mode perm. With a umask of 077, os.MkdirAll would make
// folders that only their owner could pass.
func makeParents(path string, perm fs.FileMode) error {
	err := mkdir(path, perm)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeParents(filepath.Dir(path), perm); err != nil {
			return err
		}
		err = mkdir(path, perm)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func mkdir(path string, perm fs.FileMode) error {
	if err := os.Mkdir(path, perm); err != nil {
		return err
	}
	return os.Chmod(path, perm)
}

// makeFolder makes one folder, or checks the existing one and removes other users' access to it.
func makeFolder(dir *os.Root, name string, euid int) error {
	path := filepath.Join(dir.Name(), name)
	if err := dir.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("data directory: folder %s: %w", path, err)
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return fmt.Errorf("data directory: folder %s: %w", path, err)
	}
	if err := check(path, info, euid); err != nil {
		return err
	}
	if info.Mode().Perm() != 0o700 {
		if err := dir.Chmod(name, 0o700); err != nil {
			return fmt.Errorf("data directory: folder %s: %w", path, err)
		}
	}
	return nil
}

// check returns why the user euid cannot trust the folder at path, or nil.
func check(path string, info fs.FileInfo, euid int) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return isLink(path)
	case !mode.IsDir():
		return fmt.Errorf("%s is not a folder: move it away or choose another data directory with --data", path)
	case owner(info) != euid:
		return fmt.Errorf("%s belongs to user %d and this is user %d: change its owner or choose another data directory with --data", path, owner(info), euid)
	case mode.Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others (mode %04o): run chmod go-w on it", path, mode.Perm())
	}
	return nil
}

func isLink(path string) error {
	return fmt.Errorf("%s is a symbolic link, which the data directory must be free of: move or mount there what it points to", path)
}

// owner returns the user id of a file's owner, or -1 if the system has no user ids.
func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
