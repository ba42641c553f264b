package data

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

//go:embed personas/*/*.md
var shipped embed.FS

// Seed puts the shipped personas and the requirements file into the data directory and returns
// the slugs of the personas that it added, in order. What is there, in whatever state, is left
// alone, and so is a persona that was archived. Each comes whole or, after a crash, not at all.
// Only the holder of [Dir.Lock] may call it.
func (d Dir) Seed() (added []string, err error) {
	if err := d.seedRequirements(); err != nil {
		return nil, fmt.Errorf("shipped requirements: %w", err)
	}
	root, err := os.OpenRoot(d.Personas())
	if err != nil {
		return nil, fmt.Errorf("shipped personas: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(shipped, "personas")
	if err != nil {
		return nil, fmt.Errorf("shipped personas: %w", err)
	}
	for _, e := range entries {
		slug := e.Name()
		taken, err := anyExists(root, slug, path.Join(archive, slug))
		if err == nil && !taken {
			err = seed(root, slug)
		}
		if err != nil {
			return added, fmt.Errorf("shipped persona %s: %w", slug, err)
		}
		if !taken {
			added = append(added, slug)
		}
	}
	if len(added) > 0 {
		return added, syncFolder(d.Personas())
	}
	return nil, nil
}

func (d Dir) seedRequirements() error {
	if _, err := os.Lstat(d.Requirements()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return createFile(d.Requirements(), shippedRequirements, 0o600)
}

// anyExists reports whether one of the names is there, be it a dangling link.
func anyExists(root *os.Root, names ...string) (bool, error) {
	for _, name := range names {
		_, err := root.Lstat(name)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// seed builds the persona under a hidden name and renames it into place.
func seed(root *os.Root, slug string) error {
	stage := ".seed-" + slug
	if err := root.RemoveAll(stage); err != nil { // what a crash has left
		return err
	}
	if err := root.MkdirAll(path.Join(stage, "handoffs"), 0o700); err != nil {
		return err
	}
	from := path.Join("personas", slug)
	files, err := fs.ReadDir(shipped, from)
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := shipped.ReadFile(path.Join(from, file.Name()))
		if err != nil {
			return err
		}
		if err := writeIn(root, path.Join(stage, file.Name()), b); err != nil {
			return err
		}
	}
	return root.Rename(stage, slug)
}

// writeIn writes a new file and waits until it is on the disk.
func writeIn(root *os.Root, name string, b []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
