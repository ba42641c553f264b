package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/data"
)

// place makes a working directory with files, all of them older than the agent but for those that
// are fresh.
func place(t *testing.T, began time.Time, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		name, fresh := strings.CutSuffix(name, " fresh")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := began.Add(-time.Hour)
		if fresh {
			at = began.Add(time.Minute)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestClaimsAreChecked(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	dir := place(t, began, "old.go", "new.go fresh", "pkg/deep.go", "edited.go", "committed.go", "staged.go")
	at := func(name string) string { return filepath.Join(dir, name) }
	git := workdir{
		dir: dir, own: "/nowhere", git: true, since: began, edited: []string{"edited.go"},
		tree: Worktree{
			Top: dir, Committed: []string{at("committed.go")}, Known: []string{"deep.go"},
			Changed: []FileChange{{Path: at("staged.go"), Status: "modified"}, {Path: at("gone.go"), Status: "deleted"}},
		},
	}
	plain := workdir{dir: dir, own: "/nowhere", since: began}
	for _, c := range []struct {
		what  string
		w     workdir
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
		got := c.w.check([]data.Claim{c.claim})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	w := workdir{
		dir: "/w/repo/sub", own: "/d/data",
		edited: []string{"b.go", "/w/repo/sub/a.go", "/d/data/personas/x/handoffs/h.md", "/etc/other", "b.go"},
		tree: Worktree{
			Top: "/w/repo", Committed: []string{"/w/repo/sub/a.go", "/w/repo/top.go"},
			Changed: []FileChange{{Path: "/w/repo/sub/b.go", Status: "modified", Added: 3, Deleted: 1}, {Path: "/w/repo/sub/new/", Status: "untracked"}},
		},
	}
	want := []data.Reference{
		{Path: "/etc/other", Note: "edited"}, {Path: "/w/repo/top.go", Note: "committed"}, {Path: "a.go", Note: "committed"},
		{Path: "b.go", Note: "modified, +3 -1"}, {Path: "new/", Note: "untracked"},
	}
	if got := w.references(); !slices.Equal(got, want) {
		t.Errorf("references %+v, want %+v", got, want)
	}
	if !w.progress() {
		t.Error("an edit is no progress")
	}
	w.edited, w.tree.Committed = []string{"/d/data/personas/x/experience.md"}, nil
	if w.progress() {
		t.Error("writing down one's experience is progress, and so is what somebody else left uncommitted")
	}
	for i := range 2 * maxReferences {
		w.tree.Changed = append(w.tree.Changed, FileChange{Path: fmt.Sprintf("/w/repo/%d", i), Status: "untracked"})
	}
	if n := len(w.references()); n != maxReferences {
		t.Errorf("%d references", n)
	}
}

func TestHandoffCommand(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"/handoff": "", "/handoff the parser": "the parser", " /handoff\tfix \"x\" $(date) ": `fix "x" $(date)`, "/handoff\nall": "all",
	} {
		if focus, ok := handoffCommand(prompt); !ok || focus != want {
			t.Errorf("%q: %q, %v", prompt, focus, ok)
		}
	}
	for _, prompt := range []string{"", "handoff", "/handoffs", "/handoff-now", "say /handoff", "/hand off"} {
		if _, ok := handoffCommand(prompt); ok {
			t.Errorf("%q was taken for the command", prompt)
		}
	}
}
