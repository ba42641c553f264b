package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// repo is a git repository in a folder of its own.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as git names it
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, dir}
	r.git("init", "-q")
	return r
}

// gitTestEnv knows nothing of the configuration of whoever runs the tests.
func gitTestEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func (r repo) git(args ...string) {
	r.t.Helper()
	r.gitAt(time.Now(), args...)
}

// gitAt runs git at a time of the test's choice.
func (r repo) gitAt(at time.Time, args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
	date := fmt.Sprintf("@%d +0000", at.Unix())
	cmd.Dir, cmd.Env = r.dir, append(gitTestEnv(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v, which the tests need: %v\n%s", args, err, out)
	}
}

func (r repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit(at time.Time) {
	r.t.Helper()
	r.git("add", "-A")
	r.gitAt(at, "commit", "-qm", "message")
}

func (r repo) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// ask asks about the repository; dir and names are relative to it.
func (r repo) ask(q daemon.WorktreeQuery) daemon.Worktree {
	r.t.Helper()
	q.Dir = filepath.Join(r.dir, q.Dir)
	w, err := askGit(gitTestEnv())(r.t.Context(), q)
	if err != nil || w.Top != r.dir {
		r.t.Fatalf("top %q, want %q; %v", w.Top, r.dir, err)
	}
	return w
}

// changed is what a test compares: one line for each change, less the top.
func (r repo) changed(w daemon.Worktree) string {
	var b strings.Builder
	for _, c := range w.Changed {
		rel, _ := strings.CutPrefix(c.Path, r.dir+"/")
		fmt.Fprintf(&b, "%s %q +%d -%d\n", c.Status, rel, c.Added, c.Deleted)
	}
	return b.String()
}

func (r repo) wantChanged(want string) {
	r.t.Helper()
	if got := r.changed(r.ask(daemon.WorktreeQuery{})); got != strings.TrimLeft(want, "\n") {
		r.t.Errorf("changed:\n%swant:%s", got, want)
	}
}

func TestWorktreeChanges(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	lines := strings.Repeat("a line of some length\n", 20)
	for _, name := range []string{"same", "modified", "staged", "deleted", "deleted-staged", "renamed", "renamed-gone", "back", "with space", "sub/of/it", "both"} {
		r.write(name, lines+name+"\n")
	}
	r.write("binary", "\x00\x01")
	r.write("new\nline", "x\n")
	r.write("ümlaut/日本", "x\n")
	r.commit(time.Now())
	r.wantChanged("")

	r.write("modified", lines+"other\nand more\n")
	r.write("staged", "")
	r.git("add", "staged")
	r.write("both", "staged\n")
	r.git("add", "both")
	r.write("both", "staged\nand more\n")
	r.remove("deleted")
	r.git("rm", "-q", "deleted-staged")
	r.git("mv", "renamed", "moved here")
	r.git("mv", "renamed-gone", "gone")
	r.remove("gone")
	r.git("rm", "-q", "--cached", "back") // and the file stays
	r.write("with space", lines)
	r.write("sub/of/it", "")
	r.write("binary", "\x00\x02")
	r.write("new\nline", "x\ny\n")
	r.write("ümlaut/日本", "y\n")
	r.write("added", "1\n2\n")
	r.write("added-gone", "of its own\n")
	r.git("add", "added", "added-gone")
	r.remove("added-gone")
	r.write("meant", "1\n")
	r.git("add", "-N", "meant")
	r.write("-untracked", "1\n")
	r.write(":(top)odd*", "1\n")
	r.write(".gitignore", "/ignored\n")
	r.write("ignored", "")
	for i := range 2000 { // as in node_modules
		r.write(fmt.Sprintf("folder/deep/%d", i), "")
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
	r.write("staged", "1\n")
	r.git("add", "staged")
	r.write("untracked", "1\n")
	r.wantChanged(`
added "staged" +0 -0
untracked "untracked" +0 -0
`)
	w := r.ask(daemon.WorktreeQuery{Since: time.Unix(1, 0), Names: []string{"staged", "untracked", "neither"}})
	if len(w.Committed) > 0 || !slices.Equal(w.Known, []string{"staged", "untracked"}) {
		t.Errorf("committed %q, known %q", w.Committed, w.Known)
	}
}

func TestWorktreeCommitted(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	began := time.Now().Add(-time.Hour)
	r.write("before", "1\n")
	r.write("both", "1\n")
	r.write("gone", "1\n")
	r.commit(began.Add(-time.Second))
	r.write("both", "2\n")
	r.write("with\nnewline and ü", "2\n")
	r.remove("gone")
	r.commit(began)
	r.write("both", "3\n")
	r.write("sub/later", "3\n")
	r.commit(began.Add(time.Minute))

	w := r.ask(daemon.WorktreeQuery{Dir: "sub", Since: began})
	want := []string{r.dir + "/both", r.dir + "/gone", r.dir + "/sub/later", r.dir + "/with\nnewline and ü"}
	if !slices.Equal(w.Committed, want) {
		t.Errorf("committed %q, want %q", w.Committed, want)
	}
	if w := r.ask(daemon.WorktreeQuery{Since: time.Now().Add(time.Minute)}); len(w.Committed) > 0 {
		t.Errorf("committed in the future: %q", w.Committed)
	}
	if w := r.ask(daemon.WorktreeQuery{}); len(w.Committed) > 0 {
		t.Errorf("without a time: %q", w.Committed)
	}
}

func TestWorktreeKnown(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"main.go", "sub/inner/file.go", "sub/own.go", "sub/*.md", "sub/[x]", ":top", "-n", "ü b", "gone.go"} {
		r.write(name, "1\n")
	}
	r.commit(time.Now())
	r.remove("gone.go")
	r.write("sub/new.go", "")
	r.write(".gitignore", "ignored.go\n")
	r.write("sub/ignored.go", "")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	known := []string{
		"main.go", "../main.go", "./main.go", r.dir + "/main.go", // from below, from the top, absolute
		"sub/own.go", "own.go", "inner/file.go", "file.go", "inner", "sub/inner/", r.dir + "/sub", "new.go",
		"*.md", "[x]", ":top", "-n", "ü b", "gone.go", "own.go",
	}
	unknown := []string{
		"", "x", "nner/file.go", "ain.go", "*.go", "**/own.go", ":(top)main.go", ":/main.go", ":!x", "--others", "ignored.go",
		"../../etc/passwd", "/etc/passwd", "/", "../..", r.dir + "x/main.go", "main.go/x", "a\x00b", "\xff",
	}
	for i := range 500 { // a document may name a lot
		unknown = append(unknown, fmt.Sprintf("never/%d.go", i), fmt.Sprintf("never%d.go", i))
	}
	w := r.ask(daemon.WorktreeQuery{Dir: "sub", Names: slices.Concat(unknown, known)})
	if !slices.Equal(w.Known, known) {
		t.Errorf("known %q\nwant  %q", w.Known, known)
	}
	w, err := askGit(gitTestEnv())(t.Context(), daemon.WorktreeQuery{Dir: link + "/sub", Names: []string{link + "/main.go", r.dir + "/sub/own.go", link + "x"}})
	if want := []string{link + "/main.go", r.dir + "/sub/own.go"}; err != nil || !slices.Equal(w.Known, want) {
		t.Errorf("through a link: known %q, want %q; %v", w.Known, want, err)
	}
}

// TestWorktreeOfSHA256: a repository whose objects have names of 256 bits, and whose index is split, says as much as
// another.
func TestWorktreeOfSHA256(t *testing.T) {
	t.Parallel()
	r := repo{t, realDir(t)}
	r.git("init", "-q", "--object-format=sha256")
	r.git("config", "core.splitIndex", "true")
	r.write("a", "1\n")
	r.commit(time.Now())
	r.write("a", "2\n")
	r.write("b", "1\n")
	r.git("add", "b")
	r.wantChanged("modified \"a\" +1 -1\nadded \"b\" +1 -0\n")
}

func TestWorktreeNone(t *testing.T) {
	t.Parallel()
	plain, r := t.TempDir(), newRepo(t)
	bare := repo{t, t.TempDir()}
	bare.git("init", "-q", "--bare")
	for name, tt := range map[string]struct {
		dir string
		env []string
	}{
		"a plain folder":      {plain, gitTestEnv()},
		"git's own folder":    {r.dir + "/.git", gitTestEnv()},
		"a bare repository":   {bare.dir, gitTestEnv()},
		"no git":              {r.dir, []string{"PATH=" + plain}},
		"led there from afar": {plain, append(gitTestEnv(), "GIT_DIR="+r.dir+"/.git", "GIT_WORK_TREE="+r.dir)},
	} {
		if _, err := askGit(tt.env)(t.Context(), daemon.WorktreeQuery{Dir: tt.dir}); !errors.Is(err, daemon.ErrNoWorktree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := filepath.Join(plain, "gone")
	_, err := askGit(gitTestEnv())(t.Context(), daemon.WorktreeQuery{Dir: gone})
	if err == nil || err.Error() != "the working directory "+gone+" is gone: make it again" {
		t.Errorf("a folder that is gone: %v", err)
	}
}

// TestOutside: git is asked wherever it may find a repository, and only there.
func TestOutside(t *testing.T) {
	t.Parallel()
	r, bare, plain := newRepo(t), repo{t, t.TempDir()}, repo{t, t.TempDir()}
	bare.git("init", "-q", "--bare")
	r.write("sub/x", "")
	linked := filepath.Join(plain.dir, "linked")
	if err := os.Symlink(filepath.Join(r.dir, "sub"), linked); err != nil {
		t.Fatal(err)
	}
	plain.write("sub/x", "")
	for dir, want := range map[string]bool{
		plain.dir: true, filepath.Join(plain.dir, "sub"): true,
		r.dir: false, filepath.Join(r.dir, "sub"): false, linked: false, bare.dir: false, filepath.Join(bare.dir, "objects"): false,
		filepath.Join(plain.dir, "gone"): false, ".": false,
	} {
		if got := outside(dir); got != want {
			t.Errorf("outside(%s) is %t", dir, got)
		}
	}
}
