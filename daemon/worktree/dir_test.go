package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// place makes a working directory with files. Their dates are before the agent began; "NAME fresh" makes a file with a date
// after that.
func place(t *testing.T, began time.Time, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		name, fresh := strings.CutSuffix(name, " fresh")
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		at := began.Add(-time.Hour)
		if fresh {
			at = began.Add(time.Minute)
		}
		must(t, os.Chtimes(path, at, at))
	}
	return dir
}

func TestClaimsAreChecked(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	dir := place(t, began, "old.go", "new.go fresh", "pkg/deep.go", "edited.go", "committed.go", "staged.go")
	at := func(name string) string { return filepath.Join(dir, name) }
	git := NewDir(dir, "/nowhere", Tree{
		Top: dir, Committed: []string{at("committed.go")}, Known: []string{"deep.go"},
		Changed: []Change{{Path: at("staged.go"), Status: "modified"}, {Path: at("gone.go"), Status: "deleted"}},
	}, true, []string{"edited.go"}, began)
	plain := NewDir(dir, "/nowhere", Tree{}, false, nil, began)
	for _, c := range []struct {
		what  string
		w     *Dir
		claim data.Claim
		want  string // part of the warning; "" holds
	}{
		{"named and there", git, data.Claim{Path: "old.go"}, ""},
		{"named with ./", git, data.Claim{Path: "./old.go"}, ""},
		{"named by its whole path", git, data.Claim{Path: at("pkg/deep.go")}, ""},
		{"a bare name that git knows", git, data.Claim{Path: "deep.go"}, ""},
		{"a bare name somewhere below, without git", plain, data.Claim{Path: "deep.go"}, ""},
		{"nowhere", git, data.Claim{Path: "ghost.go"}, "names ghost.go, which is not in the working directory and not known to git"},
		{"nowhere, without git", plain, data.Claim{Path: "ghost.go"}, "names ghost.go, which is not in the working directory."},
		{"nowhere, with a folder", plain, data.Claim{Path: "pkg/ghost.go"}, "names pkg/ghost.go"},
		{"yet to be made", git, data.Claim{Path: "docs/next.md", Change: "planned"}, ""},
		{"deleted, says git", git, data.Claim{Path: "gone.go"}, ""},
		{"said to be deleted, and gone", git, data.Claim{Path: "ghost.go", Change: "deleted"}, ""},
		{"said to be deleted, and there", git, data.Claim{Path: "old.go", Change: "deleted"}, "says that old.go was deleted, but it is there"},
		{"said to be changed, and old", git, data.Claim{Path: "old.go", Change: "changed"}, "says that old.go was changed, but neither git nor its date"},
		{"said to be changed, and fresh", git, data.Claim{Path: "new.go", Change: "changed"}, ""},
		{"said to be changed, and edited", git, data.Claim{Path: "edited.go", Change: "changed"}, ""},
		{"said to be changed, and committed", git, data.Claim{Path: "committed.go", Change: "changed"}, ""},
		{"said to be changed, and staged", git, data.Claim{Path: "staged.go", Change: "changed"}, ""},
		{"said to be changed, without git to ask", plain, data.Claim{Path: "old.go", Change: "changed"}, ""},
	} {
		got := c.w.Check([]data.Claim{c.claim})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestReferencesAreTheWorksFilesAndNotOurs(t *testing.T) {
	t.Parallel()
	tree := Tree{
		Top: "/w/repo", Committed: []string{"/w/repo/sub/a.go", "/w/repo/top.go", "/d/data/personas/x/skill.md"},
		Changed: []Change{
			{Path: "/w/repo/sub/b.go", Status: "modified", Added: 3, Deleted: 1}, {Path: "/w/repo/sub/new/", Status: "untracked"},
			{Path: "/d/data/personas/x/experience.md", Status: "modified"},
		},
	}
	edited := []string{"b.go", "/w/repo/sub/a.go", "/d/data/personas/x/handoffs/h.md", "/etc/other", "b.go"}
	w := NewDir("/w/repo/sub", "/d/data", tree, true, edited, time.Time{})
	want := []data.Reference{
		{Path: "/etc/other", Note: "edited"}, {Path: "/w/repo/top.go", Note: "committed"}, {Path: "a.go", Note: "committed"},
		{Path: "b.go", Note: "modified, +3 -1"}, {Path: "new/", Note: "untracked"},
	}
	if got, more := w.References(); !slices.Equal(got, want) || more != 0 {
		t.Errorf("references %+v and %d more, want %+v", got, more, want)
	}
	if !w.Progress() {
		t.Error("an edit is no progress")
	}
	tree.Committed = nil
	for i := range 2 * maxReferences {
		tree.Changed = append(tree.Changed, Change{Path: fmt.Sprintf("/w/repo/%d", i), Status: "untracked"})
	}
	w = NewDir("/w/repo/sub", "/d/data", tree, true, []string{"/d/data/personas/x/experience.md"}, time.Time{})
	if w.Progress() {
		t.Error("writing down one's experience is progress, and so is what somebody else left uncommitted")
	}
	if got, more := w.References(); len(got) != maxReferences || more != maxReferences+2 {
		t.Errorf("%d references and %d more", len(got), more)
	}
}

func TestReferencesOfADirectoryNamedByALink(t *testing.T) {
	t.Parallel()
	real := wardentest.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(real, link))
	tree := Tree{Top: real, Changed: []Change{{Path: filepath.Join(real, "a.go"), Status: "modified"}}}
	w := NewDir(link, "/d/data", tree, true, []string{filepath.Join(link, "a.go"), "b.go"}, time.Time{})
	if got, _ := w.References(); len(got) != 2 || got[0].Path != "a.go" || got[1].Path != "b.go" {
		t.Errorf("references %+v", got)
	}
}

func TestClaimsBeyondTheLimitShareASentence(t *testing.T) {
	t.Parallel()
	w := NewDir(t.TempDir(), "/d/data", Tree{}, true, nil, time.Time{})
	var claims []data.Claim
	for i := range 3 * maxClaims {
		claims = append(claims, data.Claim{Path: fmt.Sprintf("ghost%d.go", i)})
	}
	got := w.Check(claims)
	if len(got) != maxClaims+1 || !strings.Contains(got[maxClaims], fmt.Sprint(2*maxClaims)) {
		t.Errorf("%d warnings, the last is %q", len(got), got[len(got)-1])
	}
}
