package data

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var shippedSlugs = []string{"developer-con-1", "reviewer-ada-1", "tester-kit-1"}

func seeded(t *testing.T, d Dir) []string {
	t.Helper()
	added, err := d.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func TestSeed(t *testing.T) {
	t.Parallel()
	d := open(t)
	if got := seeded(t, d); !slices.Equal(got, shippedSlugs) {
		t.Errorf("added %q", got)
	}
	for _, slug := range shippedSlugs {
		for name, want := range map[string]fs.FileMode{
			"":              fs.ModeDir | 0o700,
			"handoffs":      fs.ModeDir | 0o700,
			"skill.md":      0o600,
			"experience.md": 0o600,
		} {
			if got := mode(t, filepath.Join(d.Persona(slug), name)); got != want {
				t.Errorf("%s/%s has mode %v, want %v", slug, name, got, want)
			}
		}
		b, err := os.ReadFile(filepath.Join(d.Persona(slug), "skill.md"))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(b), "\n"); lines < 40 || lines > 80 {
			t.Errorf("skill of %s has %d lines", slug, lines)
		}
	}
	if got := names(t, d.Personas()); !slices.Equal(got, shippedSlugs) {
		t.Errorf("personas holds %q", got)
	}
	if b, err := os.ReadFile(d.Requirements()); err != nil || string(b) != string(shippedRequirements) || mode(t, d.Requirements()) != 0o600 {
		t.Errorf("requirements hold %q, %v", b, err)
	}
	if got := seeded(t, d); len(got) != 0 {
		t.Errorf("added %q the second time", got)
	}
}

func TestSeedLeavesAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	own := filepath.Join(d.Persona("developer-con-1"), "skill.md")
	away := filepath.Join(d.Personas(), ".archive", "reviewer-ada-1")
	stage := filepath.Join(d.Personas(), ".seed-tester-kit-1")
	err := firstError(
		os.Mkdir(filepath.Dir(own), 0o700), os.WriteFile(own, []byte("mine"), 0o600),
		os.MkdirAll(away, 0o700), os.WriteFile(d.Requirements(), []byte("mine"), 0o600),
		os.MkdirAll(filepath.Join(stage, "handoffs"), 0o700), os.WriteFile(filepath.Join(stage, "skill.md"), []byte("half"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := seeded(t, d); !slices.Equal(got, []string{"tester-kit-1"}) {
		t.Errorf("added %q", got)
	}
	if b, err := os.ReadFile(own); err != nil || string(b) != "mine" {
		t.Errorf("the user's skill holds %q, %v", b, err)
	}
	if b, err := os.ReadFile(d.Requirements()); err != nil || string(b) != "mine" {
		t.Errorf("the user's requirements hold %q, %v", b, err)
	}
	if got := names(t, filepath.Dir(own)); len(got) != 1 {
		t.Errorf("the user's folder holds %q", got)
	}
	if got := names(t, d.Personas()); !slices.Equal(got, []string{".archive", "developer-con-1", "tester-kit-1"}) {
		t.Errorf("personas holds %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(d.Persona("tester-kit-1"), "skill.md")); err != nil || string(b) == "half" {
		t.Errorf("what a crash left was used: %q, %v", b, err)
	}
}

func TestSeedLeavesLinksAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	target := filepath.Join(t.TempDir(), "elsewhere")
	if err := firstError(os.Symlink(target, d.Persona("developer-con-1")), os.Symlink(target, d.Requirements())); err != nil {
		t.Fatal(err)
	}
	if got := seeded(t, d); !slices.Equal(got, shippedSlugs[1:]) {
		t.Errorf("added %q", got)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("something was made where the link leads")
	}
}
