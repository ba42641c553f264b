package personas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// formerly is the file in a persona's folder with the slugs that the persona had before, one on each line, the oldest first.
const formerly = ".formerly"

// Rename gives a persona another slug: it renames the persona's folder, with its documents. It refuses a slug that another persona
// has or had. The folder first notes the old slug; so a process that is killed at any moment leaves the persona whole under one of
// the two slugs, and Rename may be called again.
func (s *Store) Rename(ctx context.Context, slug, to string) (Persona, error) {
	if err := ctx.Err(); err != nil {
		return Persona{}, err
	}
	p, err := s.Get(slug)
	if err != nil {
		return p, err
	}
	switch _, err := ParseSlug(to); {
	case err != nil:
		return p, badInput("slug", "%q can't be the name of a persona: %v.", to, err)
	case p.Archived:
		return p, badInput("slug", "Persona %s is archived: move personas/.archive/%s back to personas/ to rename it.", slug, slug)
	case to == slug:
		return p, nil
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return p, fmt.Errorf("rename of persona %s: %w", slug, err)
	}
	defer root.Close()
	if err := free(root, slug, to); err != nil {
		return p, err
	}
	if err := noteFormer(root, slug, p.Former); err != nil {
		return p, fmt.Errorf("rename of persona %s: %w", slug, err)
	}
	if err := root.Rename(slug, to); err != nil {
		return p, fmt.Errorf("rename of persona %s: %w", slug, err)
	}
	if err := errors.Join(syncFolder(root, "."), renameInSkill(root, slug, to)); err != nil {
		return p, fmt.Errorf("rename of persona %s: %w", slug, err)
	}
	return s.afterChange(to)
}

// free refuses a new slug for a persona if another persona, active or archived, has it or had it.
func free(root *os.Root, slug, to string) error {
	for _, name := range []string{to, path.Join(archive, to)} {
		switch _, err := root.Lstat(name); {
		case err == nil:
			return badInput("slug", "A persona %s exists already, or is archived: choose another name.", to)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	for _, other := range folders(root) {
		if base := path.Base(other); base != slug && slices.Contains(formerSlugs(root, other), to) {
			return badInput("slug", "Persona %s was called %s before, so what that persona did would be taken for this one's: choose another name.", base, to)
		}
	}
	return nil
}

// folders returns the folders of all personas, active and archived, below root.
func folders(root *os.Root) (all []string) {
	for _, parent := range []string{".", archive} {
		entries, err := readDir(root, parent)
		if err != nil {
			continue // there is no archive
		}
		for _, e := range entries {
			if isPersona(e) && e.IsDir() {
				all = append(all, path.Join(parent, e.Name()))
			}
		}
	}
	return all
}

// formerSlugs reads the slugs that the persona in a folder had before.
func formerSlugs(root *os.Root, folder string) (former []string) {
	dir, err := root.OpenRoot(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	return readFormer(dir)
}

func readFormer(dir *os.Root) (former []string) {
	b, _, err := readFile(dir, formerly)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if slug := strings.TrimSpace(line); slug != "" {
			if _, err := ParseSlug(slug); err == nil {
				former = append(former, slug)
			}
		}
	}
	return former
}

// noteFormer writes down that the persona in a folder has had its present slug.
func noteFormer(root *os.Root, slug, before string) error {
	former := strings.Fields(strings.ReplaceAll(before, ",", " "))
	if !slices.Contains(former, slug) {
		former = append(former, slug)
	}
	return writeFile(root, path.Join(slug, formerly), []byte(strings.Join(former, "\n")+"\n"))
}

// renameInSkill writes the new slug into the front matter of skill.md if the old one stands there. The front matter is for people:
// nothing depends on it.
func renameInSkill(root *os.Root, slug, to string) error {
	dir, err := root.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dir.Close()
	b, _, err := readFile(dir, "skill.md")
	old := []byte("\nname: " + slug + "\n")
	at := bytes.Index(b, old)
	if err != nil || at < 0 || bytes.Index(b[1:], []byte("\n---")) < at {
		return nil
	}
	next := slices.Concat(b[:at], []byte("\nname: "+to+"\n"), b[at+len(old):])
	return writeFile(dir, "skill.md", next)
}

// Renamed returns the slug that the persona has now which had this slug before; "": there is none.
func (s *Store) Renamed(slug string) string {
	for _, p := range s.List() {
		if slices.Contains(strings.Split(p.Former, ","), slug) && p.Slug != slug {
			return p.Slug
		}
	}
	return ""
}
