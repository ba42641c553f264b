package personas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRename: the folder goes on under the new slug with all its files and remembers the old one. No other persona can get a slug that
// one has or had.
func TestRename(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := value(Open(root))(t)
	first := value(s.Create(t.Context(), New{Role: "developer", Name: "mia", Skill: "Do it."}))(t)
	must(t, os.WriteFile(filepath.Join(first.Dir, "handoffs", "20260101T000000-00000001.md"), []byte("x"), 0o600))
	must(t, os.WriteFile(filepath.Join(first.Dir, "experience.md"), []byte("It hurts."), 0o600))
	other := value(s.Create(t.Context(), New{Role: "developer", Name: "eva"}))(t)
	for range 2 { // the second time as after a kill between the note and the rename
		must(t, os.WriteFile(filepath.Join(first.Dir, formerly), []byte(first.Slug+"\n"), 0o600))
		if p, err := s.Get(first.Slug); err != nil || p.Problem != "" || p.Former != "" {
			t.Errorf("persona %+v, %v: want it whole before the rename", p, err)
		}
	}
	p, err := s.Rename(t.Context(), first.Slug, "developer-maria-3")
	if err != nil || p.Slug != "developer-maria-3" || p.Former != first.Slug || p.Handoffs != 1 || p.Experience != "It hurts." || !strings.Contains(p.SkillFile, "name: developer-maria-3\n") {
		t.Fatalf("renamed to %+v, %v", p, err)
	}
	failed(s.Get(first.Slug))(t, "the old slug is still there", ErrNotFound)
	equal(t, first.Slug+" is called … now", s.Renamed(first.Slug), p.Slug)
	again := value(s.Create(t.Context(), New{Role: "developer", Name: "mia"}))(t)
	equal(t, "the next of that name has another number than the one that was used", again.Slug, "developer-mia-2")
	p = value(s.Rename(t.Context(), p.Slug, "tester-maria-1"))(t)
	equal(t, "renamed again", p.Former, first.Slug+",developer-maria-3")
	must(t, s.Archive(t.Context(), again.Slug))
	for _, to := range []string{other.Slug, again.Slug, "Mia", "../x-y-1", "", "developer-maria-3"} {
		var input *InputError
		if _, err := s.Rename(t.Context(), other.Slug, to); to != other.Slug && !errors.As(err, &input) {
			t.Errorf("%s is renamed to %q: %v", other.Slug, to, err)
		}
	}
	p = value(s.Rename(t.Context(), p.Slug, first.Slug))(t)
	equal(t, "renamed back to", p.Slug, first.Slug)
	failed(s.Rename(t.Context(), again.Slug, "developer-new-1"))(t, "an archived persona was renamed")
}
