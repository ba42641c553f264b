package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// WriteFile writes b to the file at path, with exactly the mode perm, in one step: a reader sees the old file or the
// new one, also after a crash of the machine. WriteFile replaces a symbolic link at path and never follows it.
func WriteFile(path string, b []byte, perm fs.FileMode) error {
	temp, err := writeTemp(path, b, perm)
	if err != nil {
		return fmt.Errorf("write of %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("write of %s: %w", path, err), os.Remove(temp))
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write of %s: %w", path, err)
	}
	return nil
}

// WriteSole does the same as WriteFile, for a file that only one process writes. It first removes the hidden temporary
// files that a killed writer has left.
func WriteSole(path string, b []byte, perm fs.FileMode) error {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("write of %s: %w", path, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+base+".") && strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("write of %s: %w", path, err)
			}
		}
	}
	return WriteFile(path, b, perm)
}

// createFile does the same as WriteFile, but returns fs.ErrExist if the file exists already. It links a finished file
// into place. If it opened the file with O_EXCL instead, others would see an empty file for a moment, and after a crash
// for ever.
func createFile(path string, b []byte, perm fs.FileMode) error {
	temp, err := writeTemp(path, b, perm)
	if err != nil {
		return fmt.Errorf("creation of %s: %w", path, err)
	}
	err = errors.Join(os.Link(temp, path), os.Remove(temp))
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("creation of %s: %w", path, err)
	}
	return nil
}

// writeTemp writes and syncs a hidden temporary file beside path and returns the name of that file.
func writeTemp(path string, b []byte, perm fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(b); err != nil {
		return "", err
	}
	if err := f.Chmod(perm); err != nil {
		return "", err
	}
	return f.Name(), f.Sync()
}

// syncFolder makes sure that a rename or link in the folder survives a crash of the machine.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readSmall reads a regular file of at most max bytes. It follows no symbolic link, and a fifo does not block it.
func readSmall(path string, max int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s is a symbolic link: remove it", path)
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > max {
		return nil, nil, fmt.Errorf("%s is not a file of ours (%v, %d bytes): remove it", path, info.Mode(), info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, max))
	return b, info, err
}
