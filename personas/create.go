package personas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon/words"
	"go.yaml.in/yaml/v3"
)

// New is the input for a new persona.
type New struct {
	Role        string `json:"role"`
	Name        string `json:"name"`
	Description string `json:"description"` // one line; "": Create writes a general description
	// Skill is the text below the front matter, or a whole skill.md. A whole skill.md has its own
	// front matter with the description. "": Create writes a default skill, for a person to complete.
	Skill string `json:"skill"`
}

// InputError says what is wrong with the input, in a sentence for the person who entered it.
type InputError struct {
	Field   string // role, name, description, skill or slug
	Message string
}

func (e *InputError) Error() string { return e.Message }

func badInput(field, format string, args ...any) error {
	return &InputError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Create makes a persona with the next number of its role and name. It does not reuse the numbers
// of archived personas, nor those that a renamed persona had. If the input can't be used, it returns an [InputError].
func (s *Store) Create(ctx context.Context, in New) (Persona, error) {
	if err := ctx.Err(); err != nil {
		return Persona{}, err
	}
	if err := in.check(); err != nil {
		return Persona{}, err
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return Persona{}, fmt.Errorf("new persona %s-%s: %w", in.Role, in.Name, err)
	}
	defer root.Close()
	n, err := lastNumber(root, in.Role, in.Name)
	if err != nil {
		return Persona{}, fmt.Errorf("new persona %s-%s: %w", in.Role, in.Name, err)
	}
	for {
		n++
		slug := Slug{Role: in.Role, Name: in.Name, N: n}.String()
		skill, err := in.skillFile(slug)
		if err != nil {
			return Persona{}, err
		}
		err = create(root, slug, skill)
		if errors.Is(err, fs.ErrExist) {
			continue // another process has taken the slug: try the next number
		}
		if err != nil {
			return Persona{}, fmt.Errorf("new persona %s: %w", slug, err)
		}
		return s.afterChange(slug)
	}
}

// Archive moves a persona, with its documents, to .archive. It returns ErrNotFound if there is no
// such persona. If the persona is archived already, Archive does nothing.
func (s *Store) Archive(ctx context.Context, slug string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := s.Get(slug)
	if err != nil {
		return err
	}
	if p.Archived {
		return nil
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return fmt.Errorf("archive of persona %s: %w", slug, err)
	}
	defer root.Close()
	if err := move(root, slug); err != nil {
		var input *InputError
		if errors.As(err, &input) {
			return err
		}
		return fmt.Errorf("archive of persona %s: %w", slug, err)
	}
	_, err = s.afterChange(slug)
	return err
}

// afterChange updates the snapshot and returns the persona as it is now.
func (s *Store) afterChange(slug string) (Persona, error) {
	if err := s.Refresh(); err != nil {
		return Persona{}, err
	}
	return s.Get(slug)
}

func (in New) check() error {
	for word := range strings.SplitSeq(in.Role, "-") {
		if !isWord(word) {
			return badInput("role", "Role %q must be of a-z and 0-9, with single hyphens between words.", in.Role)
		}
	}
	if !isWord(in.Name) {
		return badInput("name", "Name %q must be of a-z and 0-9, without hyphens.", in.Name)
	}
	if !utf8.ValidString(in.Description) || strings.ContainsFunc(in.Description, words.Unseen) {
		return badInput("description", "Description must be one line of text.")
	}
	return nil
}

// skillFile returns the whole text of skill.md. It parses the user's text, so that Create makes no
// file if the text can't be used.
func (in New) skillFile(slug string) ([]byte, error) {
	if _, err := ParseSlug(slug); err != nil {
		return nil, badInput("name", "Role and name are too long: %s has more than %d bytes.", slug, maxSlug)
	}
	text, whole := in.Skill, false
	if first, _, _ := strings.Cut(strings.TrimPrefix(text, "\uFEFF"), "\n"); isFence(first) {
		whole = true
	}
	if whole && in.Description != "" {
		return nil, badInput("description", "The skill has front matter of its own: put the description there.")
	}
	if !whole {
		front, err := in.frontMatter(slug)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			text = in.defaultSkill()
		}
		text = front + "\n" + strings.TrimRight(text, "\r\n") + "\n"
	}
	var parse *ParseError
	if _, err := Parse(slug, []byte(text)); errors.As(err, &parse) {
		return nil, badInput("skill", "The skill can't be used: %v.", parse)
	} else if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

func (in New) frontMatter(slug string) (string, error) {
	description := strings.TrimSpace(in.Description)
	if description == "" {
		description = "Plays the role " + strings.ReplaceAll(in.Role, "-", " ") + "."
	}
	b, err := yaml.Marshal(struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}{slug, description})
	if err != nil {
		return "", fmt.Errorf("front matter of persona %s: %w", slug, err)
	}
	return "---\n" + string(b) + "---\n", nil
}

// lastNumber returns the highest number of a persona with this role and name, active or archived, or
// 0 if there is none. It reads the archive last, so that it does not miss a persona that is archived
// meanwhile.
func lastNumber(root *os.Root, role, name string) (int, error) {
	last := 0
	for _, parent := range []string{".", archive} {
		entries, err := readDir(root, parent)
		if parent == archive && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			for _, slug := range append(formerSlugs(root, path.Join(parent, e.Name())), e.Name()) {
				if s, err := ParseSlug(slug); err == nil && s.Role == role && s.Name == name {
					last = max(last, s.N)
				}
			}
		}
	}
	return last, nil
}

// create makes the persona's folder and files. Only one process can make the folder, so it is the
// lock on the slug. fs.ErrExist means that the slug is taken. create writes skill.md last: until
// then the persona can't be used.
func create(root *os.Root, slug string, skill []byte) (err error) {
	if err := root.Mkdir(slug, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// Use %v: with %w an ErrExist from inside our folder would look like a taken slug.
			err = errors.Join(fmt.Errorf("%v", err), root.RemoveAll(slug))
		}
	}()
	if err := root.Mkdir(path.Join(slug, "handoffs"), 0o700); err != nil {
		return err
	}
	if err := writeFile(root, path.Join(slug, "experience.md"), nil); err != nil {
		return err
	}
	if err := writeFile(root, path.Join(slug, "skill.md"), skill); err != nil {
		return err
	}
	return errors.Join(syncFolder(root, slug), syncFolder(root, "."))
}

// move renames the persona's folder into the archive.
func move(root *os.Root, slug string) error {
	if err := root.Mkdir(archive, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := readDir(root, archive); err != nil {
		return err
	}
	target := path.Join(archive, slug)
	if _, err := root.Lstat(target); err == nil {
		return badInput("slug", "An archived persona %s exists already: rename one of the two folders.", slug)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Rename(slug, target); err != nil {
		return err
	}
	return errors.Join(syncFolder(root, archive), syncFolder(root, "."))
}

// writeFile writes a file under a hidden name, syncs it, and renames it.
func writeFile(root *os.Root, name string, b []byte) (err error) {
	temp := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return root.Rename(temp, name)
}

// syncFolder makes sure that changes in the folder survive a crash of the machine.
func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
