package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const maxSettings = 16 << 20

// ReadSettings reads a settings file for the functions that make a [Plan]. If
// there is no file, it returns nil. If the file is empty, it returns an empty
// slice, which is not nil.
func ReadSettings(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if len(text) > maxSettings {
		return nil, fmt.Errorf("settings %s: over %d MiB", path, maxSettings>>20)
	}
	return text, nil
}

// For returns the plan for the settings file at path. The backup stands beside
// that file, and its name contains the time now, as in
// settings.json.understudy-20060102T150405.000000Z.bak.
func (p Plan) For(path string, now time.Time) Plan {
	p.Path, p.Backup = path, ""
	if p.Before != nil {
		p.Backup = path + ".understudy-" + now.UTC().Format("20060102T150405.000000") + "Z.bak"
	}
	return p
}

// Apply carries out the plan. It writes the backup and then replaces the file
// by rename, with the same mode and owner. If p.Path is a symbolic link, Apply
// replaces the link's target and keeps the link. If the file has changed since
// the plan was made, Apply returns an error and does not change the file. If
// p.Changed is false, Apply does nothing.
func Apply(p Plan) error {
	if !p.Changed {
		return nil
	}
	if err := p.apply(); err != nil {
		return fmt.Errorf("change of %s: %w", p.Path, err)
	}
	return nil
}

func (p Plan) apply() error {
	now, err := ReadSettings(p.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.Before) || (now == nil) != (p.Before == nil) {
		return errors.New("the file was changed meanwhile; run it again")
	}
	target, err := linkTarget(p.Path)
	if err != nil {
		return err
	}
	if p.Backup != "" {
		if err := writeNew(p.Backup, p.Before, target); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	if p.After == nil {
		err := os.Remove(target)
		if err == nil && p.folder {
			// Ignore the error: Rmdir shall fail if the folder is not empty or is now a link.
			_ = syscall.Rmdir(filepath.Dir(p.Path))
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.understudy-%s.tmp", target, NewKey(time.Now()))
	if err := writeNew(temp, p.After, target); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

// linkTarget follows symbolic links from path and returns the path at their end. That path need not exist.
func linkTarget(path string) (string, error) {
	for range 40 { // the kernel's own limit
		to, err := os.Readlink(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) { // EINVAL: no link
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Resolve the link's folder: if the folder is a link itself, to must not be joined to its unresolved path.
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// writeNew writes and syncs a file that must not exist yet. The file gets the
// mode and, if we are root, the owner of the file like. If there is no such file, the mode is 0600.
func writeNew(path string, text []byte, like string) (err error) {
	old, err := os.Stat(like)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(path)
		}
	}()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if old != nil {
		if own, ok := old.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
			if err := f.Chown(int(own.Uid), int(own.Gid)); err != nil {
				return err
			}
		}
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}
