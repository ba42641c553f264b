package data

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	shippedSlugs = []string{
		"architect-ivo-1", "designer-lin-1", "developer-con-1", "product-owner-maya-1",
		"qa-sol-1", "reviewer-ada-1", "senior-reviewer-vera-1", "tester-kit-1",
	}
	shippedTemplates = []string{"full_feature.yaml", "issue_only.yaml", "quick_fix.yaml"}
)

// without returns the list without some of its items.
func without(list []string, gone ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

func seeded(t *testing.T, d Dir) []string {
	t.Helper()
	return value(d.Seed())(t)
}

func TestSeed(t *testing.T) {
	t.Parallel()
	d := open(t)
	equal(t, "added", seeded(t, d), shippedSlugs)
	for _, slug := range shippedSlugs {
		for name, want := range map[string]fs.FileMode{
			"":              fs.ModeDir | 0o700,
			"handoffs":      fs.ModeDir | 0o700,
			"skill.md":      0o600,
			"experience.md": 0o600,
		} {
			equal(t, slug+"/"+name+" has mode", mode(t, filepath.Join(d.Persona(slug), name)), want)
		}
		b := value(os.ReadFile(filepath.Join(d.Persona(slug), "skill.md")))(t)
		if lines := strings.Count(string(b), "\n"); lines < 40 || lines > 80 {
			t.Errorf("skill of %s has %d lines", slug, lines)
		}
	}
	wantNames(t, d.Personas(), shippedSlugs...)
	wantText(t, d.Requirements(), string(shippedRequirements))
	equal(t, "requirements have mode", mode(t, d.Requirements()), fs.FileMode(0o600))
	equal(t, "added the second time", len(seeded(t, d)), 0)
}

func TestSeedLeavesAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	own := filepath.Join(d.Persona("developer-con-1"), "skill.md")
	away := filepath.Join(d.Personas(), ".archive", "reviewer-ada-1")
	stage := filepath.Join(d.Personas(), ".seed-tester-kit-1")
	err := errors.Join(
		os.Mkdir(filepath.Dir(own), 0o700), os.WriteFile(own, []byte("mine"), 0o600),
		os.MkdirAll(away, 0o700), os.WriteFile(d.Requirements(), []byte("mine"), 0o600),
		os.MkdirAll(filepath.Join(stage, "handoffs"), 0o700), os.WriteFile(filepath.Join(stage, "skill.md"), []byte("half"), 0o600),
	)
	must(t, err)
	equal(t, "added", seeded(t, d), without(shippedSlugs, "developer-con-1", "reviewer-ada-1"))
	wantText(t, own, "mine")
	wantText(t, d.Requirements(), "mine")
	wantNames(t, filepath.Dir(own), "skill.md")
	wantNames(t, d.Personas(), append([]string{".archive"}, without(shippedSlugs, "reviewer-ada-1")...)...)
	if b, err := os.ReadFile(filepath.Join(d.Persona("tester-kit-1"), "skill.md")); err != nil || string(b) == "half" {
		t.Errorf("what a crash left was used: %q, %v", b, err)
	}
}

func TestSeedLeavesLinksAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	target := filepath.Join(t.TempDir(), "elsewhere")
	must(t, errors.Join(os.Symlink(target, d.Persona("developer-con-1")), os.Symlink(target, d.Requirements())))
	equal(t, "added", seeded(t, d), without(shippedSlugs, "developer-con-1"))
	failed(os.Lstat(target))(t, "something was made where the link leads")
}

func TestSeedTemplates(t *testing.T) {
	t.Parallel()
	d := open(t)
	want := append([]string{".shipped"}, shippedTemplates...)
	seeded(t, d)
	wantNames(t, d.Pipelines(), want...)
	for _, name := range want {
		equal(t, name+" has mode", mode(t, filepath.Join(d.Pipelines(), name)), fs.FileMode(0o600))
	}

	// A template that a user edited stays as it is, and one that a user deleted is not added again.
	own := filepath.Join(d.Pipelines(), "quick_fix.yaml")
	write(t, own, "mine")
	remove := func(name string) {
		t.Helper()
		must(t, os.Remove(filepath.Join(d.Pipelines(), name)))
	}
	remove("issue_only.yaml")
	for range 2 {
		seeded(t, d)
		wantNames(t, d.Pipelines(), without(want, "issue_only.yaml")...)
	}
	remove("quick_fix.yaml")
	remove("full_feature.yaml")
	seeded(t, d)
	wantNames(t, d.Pipelines(), ".shipped")

	// Seed adds a template whose line was removed, and one that only a new version ships.
	write(t, filepath.Join(d.Pipelines(), ".shipped"), "full_feature\nquick_fix\n")
	seeded(t, d)
	wantNames(t, d.Pipelines(), ".shipped", "issue_only.yaml")
	must(t, os.RemoveAll(d.Pipelines()))
	d = value(Open(d.Root()))(t)
	seeded(t, d)
	wantNames(t, d.Pipelines(), want...)
}

func TestSeedLeavesTemplatesAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	target := filepath.Join(t.TempDir(), "elsewhere")
	at := func(name string) string { return filepath.Join(d.Pipelines(), name) }
	write(t, at("quick_fix.yml"), "mine") // has the same template name
	write(t, at("full_feature.yaml"), "")
	must(t, os.Symlink(target, at("issue_only.yaml")))
	seeded(t, d)
	wantNames(t, d.Pipelines(), ".shipped", "full_feature.yaml", "issue_only.yaml", "quick_fix.yml")
	wantText(t, at("full_feature.yaml"), "")
	failed(os.Lstat(target))(t, "something was made where the link leads")

	// If the list cannot be read, Seed must not add deleted templates again.
	must(t, errors.Join(os.Remove(at(".shipped")), os.Remove(at("issue_only.yaml")), os.Symlink(target, at(".shipped"))))
	failed(d.Seed())(t, "seed", "pipelines/.shipped is a symbolic link: remove it")
	failed(os.Lstat(at("issue_only.yaml")))(t, "a deleted template came back")
}
