package personas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		in              New
		wantDescription string
		wantSkill       string // a part of it
	}{
		{name: "template", in: New{Role: "go-developer", Name: "con"}, wantDescription: "Plays the role go developer.", wantSkill: "# Con, go developer\n"},
		{name: "body", in: New{Role: "dev", Name: "con", Description: "It's: \"fine\" #1", Skill: "Be good.\n\n"}, wantDescription: "It's: \"fine\" #1", wantSkill: "Be good.\n"},
		{name: "whole file", in: New{Role: "dev", Name: "con", Skill: plain}, wantDescription: "Writes code.", wantSkill: "Do it.\n"},
		{name: "odd description", in: New{Role: "dev", Name: "con", Description: "true", Skill: "x"}, wantDescription: "true", wantSkill: "x"},
	}
	for _, test := range tests {
		s := openStore(t, folder(t, nil))
		p, err := s.Create(t.Context(), test.in)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if p.Problem != "" || p.N != 1 || p.Description != test.wantDescription || !strings.Contains(p.Skill, test.wantSkill) || p.Experience != "" {
			t.Errorf("%s: got %+v", test.name, p)
		}
		equal(t, test.name+": list is", slugs(s), p.Slug)
		equal(t, test.name+": folder holds", fmt.Sprint(value(os.ReadDir(p.Dir))(t)), "[- experience.md d handoffs/ - skill.md]")
		for name, want := range map[string]os.FileMode{"": 0o700, "skill.md": 0o600, "experience.md": 0o600, "handoffs": 0o700} {
			equal(t, test.name+": mode of "+name, value(os.Stat(filepath.Join(p.Dir, name)))(t).Mode().Perm(), want)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    New
		field string
	}{
		{New{Name: "con"}, "role"},
		{New{Role: "dev"}, "name"},
		{New{Role: "../dev", Name: "con"}, "role"},
		{New{Role: "dev", Name: "con-x"}, "name"},
		{New{Role: "dev", Name: "con/x"}, "name"},
		{New{Role: "dev", Name: strings.Repeat("x", 60)}, "name"},
		{New{Role: "dev", Name: "con", Description: "two\nlines"}, "description"},
		{New{Role: "dev", Name: "con", Description: "\x1b[2J"}, "description"},
		{New{Role: "dev", Name: "con", Description: "\xff"}, "description"},
		{New{Role: "dev", Name: "con", Description: "d", Skill: plain}, "description"},
		{New{Role: "dev", Name: "con", Skill: "\xff"}, "skill"},
		{New{Role: "dev", Name: "con", Skill: "a\x00b"}, "skill"},
		{New{Role: "dev", Name: "con", Skill: "---\nname: x\n---\ny"}, "skill"},
		{New{Role: "dev", Name: "con", Skill: strings.Repeat("x", maxFile)}, "skill"},
	}
	root := folder(t, nil)
	s := openStore(t, root)
	for _, test := range tests {
		_, err := s.Create(t.Context(), test.in)
		var input *InputError
		if !errors.As(err, &input) || input.Field != test.field || !strings.HasSuffix(input.Message, ".") {
			t.Errorf("%+.80v: error %v, want one about %s", test.in, err, test.field)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed(s.Create(ctx, New{Role: "dev", Name: "con"}))(t, "cancelled", context.Canceled)
	equal(t, "files in the folder", len(value(os.ReadDir(root))(t)), 0)
}

// TestCreateAtOnce: several stores, each of which stands for a process, give out no number twice.
func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{".archive/dev-con-3/skill.md": plain})
	stores := []*Store{openStore(t, root), openStore(t, root)}
	const count = 64
	got := make([]Persona, count)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			var err error
			got[i], err = stores[i%2].Create(t.Context(), New{Role: "dev", Name: "con"})
			if err != nil || got[i].Problem != "" {
				t.Errorf("got %+v, %v", got[i], err)
			}
		})
	}
	all.Wait()
	seen := map[int]bool{}
	for _, p := range got {
		if seen[p.N] || p.N < 4 || p.N > 3+count {
			t.Errorf("number %d: given twice or out of range", p.N)
		}
		seen[p.N] = true
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{
		"dev-con-2/skill.md":      plain,
		"dev-con-2/handoffs/x.md": "x",
		"dev-bob-1/skill.md":      plain,
		"dev-bob-1/keep":          "active",
		".archive/dev-bob-1/keep": "archived",
	})
	s := openStore(t, root)
	for range 2 { // to archive again is no error
		must(t, s.Archive(t.Context(), "dev-con-2"))
	}
	p, err := s.Get("dev-con-2")
	if err != nil || !p.Archived || p.Handoffs != 1 || p.Dir != filepath.Join(root, ".archive/dev-con-2") {
		t.Errorf("got %+v, %v", p, err)
	}
	equal(t, "list is", slugs(s), "dev-bob-1, dev-con-2 (archived)")
	equal(t, "the next is", value(s.Create(t.Context(), New{Role: "dev", Name: "con"}))(t).N, 3)
	var input *InputError
	if err := s.Archive(t.Context(), "dev-bob-1"); !errors.As(err, &input) {
		t.Errorf("slug that is archived already: %v", err)
	}
	for name, want := range map[string]string{"dev-bob-1/keep": "active", ".archive/dev-bob-1/keep": "archived"} {
		equal(t, name+" holds", string(value(os.ReadFile(filepath.Join(root, name)))(t)), want)
	}
}

func TestArchiveStaysInside(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"dev-con-1/skill.md": plain})
	outside := t.TempDir()
	t.Run("link out", func(t *testing.T) { testArchiveLink(t, root, outside, outside) })
	must(t, os.Remove(filepath.Join(root, ".archive")))
	inside := filepath.Join(root, "inside")
	must(t, os.Mkdir(inside, 0o700))
	t.Run("link inside", func(t *testing.T) { testArchiveLink(t, root, "inside", inside) })
}

// testArchiveLink checks that an archive that is a link to the folder outside is not used.
func testArchiveLink(t *testing.T, root, link, outside string) {
	must(t, os.Symlink(link, filepath.Join(root, ".archive")))
	s := openStore(t, root)
	wantErr(t, "archived through a link", s.Archive(t.Context(), "dev-con-1"))
	failed(s.Create(t.Context(), New{Role: "dev", Name: "con"}))(t, "numbered without knowing the archive")
	equal(t, "files outside", len(value(os.ReadDir(outside))(t)), 0)
	equal(t, "list is", slugs(s), "dev-con-1")
}
