package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// ask asks about the repository; dir and names are relative to it.
func (r repo) ask(q worktree.Query) worktree.Tree {
	r.T.Helper()
	q.Dir = filepath.Join(r.Dir, q.Dir)
	w, err := Ask(cmdtest.GitTestEnv())(r.T.Context(), q)
	if err != nil || w.Top != r.Dir {
		r.T.Fatalf("top %q, want %q; %v", w.Top, r.Dir, err)
	}
	return w
}

// changed is what a test compares: one line for each change, less the top.
func (r repo) changed(w worktree.Tree) string {
	var b strings.Builder
	for _, c := range w.Changed {
		rel, _ := strings.CutPrefix(c.Path, r.Dir+"/")
		fmt.Fprintf(&b, "%s %q +%d -%d\n", c.Status, rel, c.Added, c.Deleted)
	}
	return b.String()
}

func (r repo) wantChanged(want string) {
	r.T.Helper()
	equal(r.T, "changed", r.changed(r.ask(worktree.Query{})), strings.TrimLeft(want, "\n"))
}

func TestWorktreeChanges(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	lines := strings.Repeat("a line of some length\n", 20)
	for _, name := range []string{"same", "modified", "staged", "deleted", "deleted-staged", "renamed", "renamed-gone", "back", "with space", "sub/of/it", "both"} {
		r.Write(name, lines+name+"\n")
	}
	r.Write("binary", "\x00\x01")
	r.Write("new\nline", "x\n")
	r.commits("ümlaut/日本", "x\n")
	r.wantChanged("")

	r.Write("modified", lines+"other\nand more\n")
	r.Write("staged", "")
	r.Git("add", "staged")
	r.Write("both", "staged\n")
	r.Git("add", "both")
	r.Write("both", "staged\nand more\n")
	r.Remove("deleted")
	r.Git("rm", "-q", "deleted-staged")
	r.Git("mv", "renamed", "moved here")
	r.Git("mv", "renamed-gone", "gone")
	r.Remove("gone")
	r.Git("rm", "-q", "--cached", "back") // and the file stays
	r.Write("with space", lines)
	r.Write("sub/of/it", "")
	r.Write("binary", "\x00\x02")
	r.Write("new\nline", "x\ny\n")
	r.Write("ümlaut/日本", "y\n")
	r.Write("added", "1\n2\n")
	r.Write("added-gone", "of its own\n")
	r.Git("add", "added", "added-gone")
	r.Remove("added-gone")
	r.Write("meant", "1\n")
	r.Git("add", "-N", "meant")
	r.Write("-untracked", "1\n")
	r.Write(":(top)odd*", "1\n")
	r.Write(".gitignore", "/ignored\n")
	r.Write("ignored", "")
	for i := range 2000 { // as in node_modules
		r.Write(fmt.Sprintf("folder/deep/%d", i), "")
	}
	r.wantChanged(`
untracked "-untracked" +0 -0
untracked ".gitignore" +0 -0
untracked ":(top)odd*" +0 -0
added "added" +2 -0
untracked "back" +0 -0
modified "binary" +0 -0
modified "both" +2 -21
deleted "deleted" +0 -21
deleted "deleted-staged" +0 -21
untracked "folder/" +0 -0
added "meant" +1 -0
modified "modified" +2 -1
renamed "moved here" +0 -0
modified "new\nline" +1 -0
deleted "renamed-gone" +0 -21
modified "staged" +0 -21
modified "sub/of/it" +0 -21
modified "with space" +0 -1
modified "ümlaut/日本" +1 -1
`)
}

// TestWorktreeWithoutCommits: what a new repository has is told all the same.
func TestWorktreeWithoutCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.wantChanged("")
	r.Write("staged", "1\n")
	r.Git("add", "staged")
	r.Write("untracked", "1\n")
	r.wantChanged(`
added "staged" +0 -0
untracked "untracked" +0 -0
`)
	w := r.ask(worktree.Query{Since: time.Unix(1, 0), Names: []string{"staged", "untracked", "neither"}})
	if len(w.Committed) > 0 || !slices.Equal(w.Known, []string{"staged", "untracked"}) {
		t.Errorf("committed %q, known %q", w.Committed, w.Known)
	}
}

func TestWorktreeCommitted(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	began := time.Now().Add(-time.Hour)
	r.Write("before", "1\n")
	r.Write("both", "1\n")
	r.Write("gone", "1\n")
	r.Commit(began.Add(-time.Second))
	r.Write("both", "2\n")
	r.Write("with\nnewline and ü", "2\n")
	r.Remove("gone")
	r.Commit(began)
	r.Write("both", "3\n")
	r.Write("sub/later", "3\n")
	r.Commit(began.Add(time.Minute))

	w := r.ask(worktree.Query{Dir: "sub", Since: began})
	want := []string{r.Dir + "/both", r.Dir + "/gone", r.Dir + "/sub/later", r.Dir + "/with\nnewline and ü"}
	equal(t, "committed", w.Committed, want)
	if w := r.ask(worktree.Query{Since: time.Now().Add(time.Minute)}); len(w.Committed) > 0 {
		t.Errorf("committed in the future: %q", w.Committed)
	}
	if w := r.ask(worktree.Query{}); len(w.Committed) > 0 {
		t.Errorf("without a time: %q", w.Committed)
	}
}

func TestWorktreeKnown(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"main.go", "sub/inner/file.go", "sub/own.go", "sub/*.md", "sub/[x]", ":top", "-n", "ü b", "gone.go"} {
		r.Write(name, "1\n")
	}
	r.Commit(time.Now())
	r.Remove("gone.go")
	r.Write("sub/new.go", "")
	r.Write(".gitignore", "ignored.go\n")
	r.Write("sub/ignored.go", "")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(r.Dir, link))
	known := []string{
		"main.go", "../main.go", "./main.go", r.Dir + "/main.go", // from below, from the top, absolute
		"sub/own.go", "own.go", "inner/file.go", "file.go", "inner", "sub/inner/", r.Dir + "/sub", "new.go",
		"*.md", "[x]", ":top", "-n", "ü b", "gone.go", "own.go",
	}
	unknown := []string{
		"", "x", "nner/file.go", "ain.go", "*.go", "**/own.go", ":(top)main.go", ":/main.go", ":!x", "--others", "ignored.go",
		"../../etc/passwd", "/etc/passwd", "/", "../..", r.Dir + "x/main.go", "main.go/x", "a\x00b", "\xff",
	}
	for i := range 500 { // a document may name a lot
		unknown = append(unknown, fmt.Sprintf("never/%d.go", i), fmt.Sprintf("never%d.go", i))
	}
	w := r.ask(worktree.Query{Dir: "sub", Names: slices.Concat(unknown, known)})
	equal(t, "known", w.Known, known)
	w, err := Ask(cmdtest.GitTestEnv())(t.Context(), worktree.Query{Dir: link + "/sub", Names: []string{link + "/main.go", r.Dir + "/sub/own.go", link + "x"}})
	if want := []string{link + "/main.go", r.Dir + "/sub/own.go"}; err != nil || !slices.Equal(w.Known, want) {
		t.Errorf("through a link: known %q, want %q; %v", w.Known, want, err)
	}
}

// TestWorktreeOfSHA256: a repository whose objects have names of 256 bits, and whose index is split, says as much as
// another.
func TestWorktreeOfSHA256(t *testing.T) {
	t.Parallel()
	r := repoAt(t, realDir(t))
	r.Git("init", "-q", "--object-format=sha256")
	r.Git("config", "core.splitIndex", "true")
	r.commits("a", "1\n")
	r.Write("a", "2\n")
	r.Write("b", "1\n")
	r.Git("add", "b")
	r.wantChanged("modified \"a\" +1 -1\nadded \"b\" +1 -0\n")
}

func TestWorktreeNone(t *testing.T) {
	t.Parallel()
	plain, r := t.TempDir(), newRepo(t)
	bare := repoAt(t, t.TempDir())
	bare.Git("init", "-q", "--bare")
	for name, tt := range map[string]struct {
		dir string
		env []string
	}{
		"a plain folder":      {plain, cmdtest.GitTestEnv()},
		"git's own folder":    {r.Dir + "/.git", cmdtest.GitTestEnv()},
		"a bare repository":   {bare.Dir, cmdtest.GitTestEnv()},
		"no git":              {r.Dir, []string{"PATH=" + plain}},
		"led there from afar": {plain, append(cmdtest.GitTestEnv(), "GIT_DIR="+r.Dir+"/.git", "GIT_WORK_TREE="+r.Dir)},
	} {
		failed(Ask(tt.env)(t.Context(), worktree.Query{Dir: tt.dir}))(t, name, worktree.ErrNone)
	}
	gone := filepath.Join(plain, "gone")
	_, err := Ask(cmdtest.GitTestEnv())(t.Context(), worktree.Query{Dir: gone})
	if err == nil || err.Error() != "the working directory "+gone+" is gone: make it again" {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// TestOutside: git is asked wherever it may find a repository, and only there.
func TestOutside(t *testing.T) {
	t.Parallel()
	r, bare, plain := newRepo(t), repoAt(t, t.TempDir()), repoAt(t, t.TempDir())
	bare.Git("init", "-q", "--bare")
	r.Write("sub/x", "")
	linked := filepath.Join(plain.Dir, "linked")
	must(t, os.Symlink(filepath.Join(r.Dir, "sub"), linked))
	plain.Write("sub/.git/x", "")
	plain.Write("file/.git", "gitdir: ../gone\n")
	for dir, want := range map[string]bool{
		plain.Dir: true, filepath.Join(plain.Dir, "sub"): true, filepath.Join(plain.Dir, "file"): false,
		r.Dir: false, filepath.Join(r.Dir, "sub"): false, linked: false, bare.Dir: false, filepath.Join(bare.Dir, "objects"): false,
		filepath.Join(plain.Dir, "gone"): false, ".": false,
	} {
		equal(t, "outside("+dir+") is", outside(dir), want)
	}
}
