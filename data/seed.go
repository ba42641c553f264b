package data

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed personas/*/*.md pipelines/*.yaml
var shipped embed.FS

// Seed adds the shipped personas, pipeline templates and requirements file to the data directory. It returns the slugs
// of the personas that it added, in order. It never changes a file or persona that exists, even a broken one, and it adds
// no persona that was archived. After a crash each persona and file is there as a whole or not at all. Only the holder of
// [Dir.Lock] may call Seed.
//
// Seed adds a template once, and lists its name in pipelines/.shipped. If a user deletes the template, Seed adds it again
// only after the user has removed its line there, or has deleted the whole folder.
func (d Dir) Seed() (added []string, err error) {
	if err := d.seedRequirements(); err != nil {
		return nil, fmt.Errorf("shipped requirements: %w", err)
	}
	if err := d.seedTemplates(); err != nil {
		return nil, fmt.Errorf("shipped pipeline templates: %w", err)
	}
	return d.seedPersonas()
}

func (d Dir) seedPersonas() (added []string, err error) {
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

// shippedList is the file in pipelines/ that lists the templates that Seed has added, one per line. Its name is hidden, so
// that nobody takes it for a template.
const shippedList = ".shipped"

// seedTemplates adds the templates first and lists them afterwards. If the program crashes in between, the templates
// exist, so the next Seed does not change them.
func (d Dir) seedTemplates() error {
	list := filepath.Join(d.Pipelines(), shippedList)
	b, _, err := readSmall(list, 1<<16)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	came := strings.Fields(string(b))
	before := len(came)
	entries, err := fs.ReadDir(shipped, "pipelines")
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		if slices.Contains(came, name) {
			continue
		}
		if err := d.seedTemplate(name); err != nil {
			return err
		}
		came = append(came, name)
	}
	if len(came) == before {
		return nil
	}
	return WriteFile(list, []byte(strings.Join(came, "\n")+"\n"), 0o600)
}

func (d Dir) seedTemplate(name string) error {
	root, err := os.OpenRoot(d.Pipelines())
	if err != nil {
		return err
	}
	defer root.Close()
	if taken, err := anyExists(root, name+".yaml", name+".yml"); taken || err != nil {
		return err
	}
	b, err := shipped.ReadFile(path.Join("pipelines", name+".yaml"))
	if err != nil {
		return err
	}
	return createFile(filepath.Join(d.Pipelines(), name+".yaml"), b, 0o600)
}

func (d Dir) seedRequirements() error {
	if _, err := os.Lstat(d.Requirements()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return createFile(d.Requirements(), shippedRequirements, 0o600)
}

// anyExists reports whether one of the names exists. A dangling link counts.
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

// seed makes the persona under a hidden name and renames it into place.
func seed(root *os.Root, slug string) error {
	stage := ".seed-" + slug
	if err := root.RemoveAll(stage); err != nil { // remove the folder that a crash may have left
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

// writeIn writes a new file and syncs it to the disk.
func writeIn(root *os.Root, name string, b []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
