package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

// began is the base that the daemon would record now.
func (r repo) began(t *testing.T) worktree.Base {
	t.Helper()
	return value(NewDiffer(cmdtest.GitTestEnv()).Begin(t.Context(), r.Dir, time.Now()))(t)
}

func (r repo) differs(t *testing.T, q worktree.DiffQuery) worktree.Diff {
	t.Helper()
	if q.Dir == "" {
		q.Dir = r.Dir
	}
	return value(NewDiffer(cmdtest.GitTestEnv()).Diff(t.Context(), q))(t)
}

// told writes a diff in lines.
func told(d worktree.Diff, hunks bool) string {
	var b strings.Builder
	size := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	for _, f := range d.Files {
		fmt.Fprintf(&b, "%s %q", f.Status, f.Path)
		if f.OldPath != "" {
			fmt.Fprintf(&b, " from %q", f.OldPath)
		}
		if f.Binary {
			fmt.Fprintf(&b, " binary %s to %s", size(f.OldSize), size(f.Size))
		} else {
			fmt.Fprintf(&b, " +%d -%d", f.Added, f.Deleted)
		}
		if f.Before {
			b.WriteString(" before")
		}
		if f.Cut {
			b.WriteString(" cut")
		}
		if f.Note != "" {
			b.WriteString(" (" + f.Note + ")")
		}
		b.WriteString("\n")
		for _, h := range f.Hunks {
			if hunks {
				fmt.Fprintf(&b, "  @ %d %d\n  %s\n", h.OldStart, h.NewStart, strings.Join(h.Lines, "\n  "))
			}
		}
	}
	return b.String()
}

func wantTold(t *testing.T, got, want string) {
	t.Helper()
	equal(t, "the diff is", got, want)
}

// TestDiffSinceTheBase: commits, the index, the work tree and untracked files are all in the diff, and nothing that is
// ignored or that was undone.
func TestDiffSinceTheBase(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.Write(".gitignore", "*.log\n")
	r.Write("kept", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	r.Write("committed", "1\n2\n3\n")
	r.Write("gone", "1\n")
	r.Write("old name", "1\n2\n3\n4\n5\n6\n7\n8\n")
	r.Write("bin", "a\x00b")
	r.commits("dirty", "1\n")
	r.Write("dirty", "2\n")
	base := r.began(t)
	if len(base.Before) != 1 || base.Before[0] != "dirty" || base.Branch != r.says("symbolic-ref", "--short", "HEAD") || len(base.Commit) != 40 {
		t.Errorf("the base: %+v", base)
	}
	r.commits("committed", "1\nII\n3\n")
	r.Write("kept", "0\n2\n3\n4\n5\n6\n7\n8\n9\n")
	r.Remove("gone")
	r.Git("mv", "old name", "new name")
	r.Write("bin", "a\x00bcd")
	r.Write("x.log", "ignored\n")
	r.Write("new/a\tb\n\x1b[31m\"é", "un\ndeux")
	r.Write("staged", "-- a/x\n++ b/y\n")
	r.Git("add", "staged")
	must(t, os.Symlink("/etc/passwd", r.Dir+"/link"))
	must(t, syscall.Mkfifo(r.Dir+"/fifo", 0o600))
	must(t, os.Chmod(r.Dir+"/kept", 0o755))
	d := r.differs(t, worktree.DiffQuery{Base: base})
	wantTold(t, told(d, true), `modified "bin" binary 3 to 5
modified "committed" +1 -1
  @ 1 1
   1
  -2
  +II
   3
modified "dirty" +1 -1 before
  @ 1 1
  -1
  +2
deleted "gone" +0 -1
  @ 1 0
  -1
modified "kept" +1 -1 (mode 100644 → 100755)
  @ 1 1
  -1
  +0
   2
   3
   4
untracked "link" +0 -0 (a link to /etc/passwd)
renamed "new name" from "old name" +0 -0
untracked "new/a\tb\n\x1b[31m\"é" +2 -0
  @ 0 1
  +un
  +deux
  \ No newline at end of file
added "staged" +2 -0
  @ 0 1
  +-- a/x
  +++ b/y
`)
	if d.Rewritten || d.Incomplete != "" || d.Added != 7 || d.Deleted != 4 || d.FileCount != 9 {
		t.Errorf("rewritten %v, incomplete %q, +%d -%d, %d files", d.Rewritten, d.Incomplete, d.Added, d.Deleted, d.FileCount)
	}
	wantTold(t, told(r.differs(t, worktree.DiffQuery{Base: base, Stat: true, Files: []string{"new", "kept"}}), true),
		"modified \"kept\" +1 -1 (mode 100644 → 100755)\nuntracked \"new/a\\tb\\n\\x1b[31m\\\"é\" +2 -0\n")
	r.Git("commit", "-qam", "quoted names", "--allow-empty")
	r.Git("add", "-A", "new", "committed")
	quoted := r.differs(t, worktree.DiffQuery{Base: base, Files: []string{"new/a\tb\n\x1b[31m\"é", "--output=x", ":(exclude)kept", "*"}})
	if len(quoted.Files) != 1 || len(quoted.Files[0].Hunks) != 1 {
		t.Errorf("a tracked file with such a name, and names that are patterns or options elsewhere:\n%s", told(quoted, true))
	}
}

// TestDiffBases: a base before the first commit, one that is gone, one that was rewritten; no repository, and one whose
// configuration points elsewhere.
func TestDiffBases(t *testing.T) {
	t.Parallel()
	differ := NewDiffer(cmdtest.GitTestEnv())
	empty := repoAt(t, t.TempDir())
	failed(differ.Begin(t.Context(), empty.Dir, time.Now()))(t, "outside of a repository", worktree.ErrNone)
	empty.Git("init", "-q", "-b", "main")
	unborn := empty.began(t)
	empty.Write("a", "1\n")
	empty.Git("add", "a")
	wantTold(t, told(empty.differs(t, worktree.DiffQuery{Base: unborn}), true), "added \"a\" +1 -0\n  @ 0 1\n  +1\n")

	r := newRepo(t)
	r.commits("a", "1\n")
	base := r.began(t)
	r.Write("a", "2\n")
	r.Git("commit", "-qa", "--amend", "-m", "rewritten")
	d := r.differs(t, worktree.DiffQuery{Base: base})
	wantTold(t, told(d, false), "modified \"a\" +1 -1\n")
	if !d.Rewritten {
		t.Error("the history was rewritten, and the diff does not say so")
	}
	r.Git("reflog", "expire", "--expire=all", "--all")
	r.Git("gc", "-q", "--prune=now")
	for _, commit := range []string{base.Commit, "HEAD", "--output=x"} {
		base.Commit = commit
		failed(differ.Diff(t.Context(), worktree.DiffQuery{Dir: r.Dir, Base: base}))(t, "base "+commit, worktree.ErrBaseGone)
	}

	elsewhere := t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, "secret"), []byte("1\n"), 0o600))
	for _, top := range []string{elsewhere, filepath.Dir(r.Dir), "/"} {
		r.Git("config", "core.worktree", top)
		failed(differ.Diff(t.Context(), worktree.DiffQuery{Dir: r.Dir}))(t, fmt.Sprintf("core.worktree = %s is looked at", top))
	}
}

// TestDiffIsBounded: many files, long files, long lines and large files are cut, and the diff says so.
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commits("long", "1\n")
	base := r.began(t)
	r.Write("long", strings.Repeat("a line\n", worktree.MaxFileLines+50))
	r.Write("wide", strings.Repeat("é", worktree.MaxLine))
	r.Write("large", strings.Repeat("x", worktree.MaxFileSize+1))
	d := r.differs(t, worktree.DiffQuery{Base: base})
	wantTold(t, told(d, false), fmt.Sprintf("untracked \"large\" binary - to %d\nmodified \"long\" +450 -1 cut\nuntracked \"wide\" +1 -0\n", worktree.MaxFileSize+1))
	equal(t, "lines of the long file", len(d.Files[1].Hunks[0].Lines), worktree.MaxFileLines)
	if line := d.Files[2].Hunks[0].Lines[0]; len(line) > worktree.MaxLine+3 || !strings.HasSuffix(line, "é…") {
		t.Errorf("the wide line has %d bytes and ends in %q", len(line), line[len(line)-8:])
	}
	if named := r.differs(t, worktree.DiffQuery{Base: base, Files: []string{"long"}}); named.Files[0].Cut {
		t.Error("a file that is named is cut like the others")
	}
	for i := range worktree.MaxFiles + 5 {
		r.Write(fmt.Sprintf("many/%03d", i), strings.Repeat("x\n", 20))
	}
	d = r.differs(t, worktree.DiffQuery{Base: base})
	if len(d.Files) != worktree.MaxFiles || d.FileCount != worktree.MaxFiles+8 || !strings.Contains(d.Incomplete, "only 500 of 508 changed files") ||
		!strings.Contains(d.Incomplete, "the hunks are cut") {
		t.Errorf("%d files of %d: %s", len(d.Files), d.FileCount, d.Incomplete)
	}
}

// TestLooksRunNothing: a repository whose configuration names programs wherever git would run one gets none of them run,
// nor any of the user's programs that its attributes choose.
func TestLooksRunNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ran, home := t.TempDir(), t.TempDir()
	script := func(name string) string {
		path := filepath.Join(t.TempDir(), "program")
		writeScript(t, path, "#!/bin/sh\ntouch "+ran+"/"+name+"\ncat\n")
		return path
	}
	sub := newRepo(t)
	sub.commits("a", "1\n")
	r.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.Dir, "sub")
	r.Write(".gitattributes", "*.c filter=evil diff=evil\n*.p filter=process\n*.i filter=included\n*.u filter=users diff=users\n*.w filter=own\n")
	names := []string{"a.c", "a.p", "a.i", "a.u", "a.w"}
	for _, name := range names {
		r.Write(name, "1\n")
	}
	r.Commit(time.Now().Add(-time.Minute))
	r.signed(t, "a.c")
	base := r.began(t)
	missing := r.says("hash-object", "-w", "a.c") // of the promisor: see below
	r.Write("included.conf", "[filter \"included\"]\n\tclean = "+script("filter-included")+"\n")
	r.configure(map[string]string{
		"core.fsmonitor": script("fsmonitor"), "core.pager": script("pager"), "pager.diff": "true", "pager.status": "true",
		"diff.external": script("diff-external"), "diff.evil.textconv": script("textconv"), "diff.evil.command": script("diff-command"),
		"filter.evil.clean": script("filter-clean"), "filter.evil.smudge": script("filter-smudge"), "filter.evil.required": "true",
		"filter.process.process": script("filter-process"), "include.path": r.Dir + "/included.conf", "includeIf.gitdir:/.path": r.Dir + "/included.conf",
		"core.hooksPath": r.Dir + "/hooks", "diff.orderFile": "nowhere", "color.ui": "always", "diff.submodule": "log", "diff.noprefix": "true",
		"alias.diff": "!" + script("alias"), "alias.ls-files": "!" + script("alias"), "core.sshCommand": "touch " + ran + "/ssh; false", "core.editor": script("editor"),
		"core.askPass": script("askpass"), "credential.helper": script("credential"), "core.alternateRefsCommand": script("alternates"),
		"core.gitProxy": script("proxy"), "remote.origin.url": "ssh://nowhere.invalid/x", "remote.origin.promisor": "true",
		"remote.origin.partialclonefilter": "blob:none", "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1",
		"diff.wsErrorHighlight": "all", "diff.colorMoved": "zebra", "diff.renames": "copies", "interactive.diffFilter": script("filter-interactive"),
		"extensions.worktreeConfig": "true", "trailer.x.command": script("trailer"), "gpg.program": script("gpg"), "log.showSignature": "true",
	})
	r.Git("config", "--worktree", "filter.own.clean", script("filter-own"))
	writeScript(t, r.Dir+"/.git/modules/sub/hooks/post-index-change", "#!/bin/sh\ntouch "+ran+"/sub-hook\n")
	repoAt(t, r.Dir+"/sub").Git("config", "core.fsmonitor", script("sub-fsmonitor"))
	r.Write("hooks/.keep", "")
	for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit"} {
		writeScript(t, r.Dir+"/hooks/"+hook, "#!/bin/sh\ntouch "+ran+"/hook\n")
	}
	users := fmt.Sprintf("[filter \"users\"]\n\tclean = %s\n[diff \"users\"]\n\ttextconv = %s\n\tcommand = %[2]s\n[core]\n\tpager = %[2]s\n\tfsmonitor = %[2]s\n\texcludesFile = %s/ignored\n[diff]\n\texternal = %[2]s\n",
		script("users-filter"), script("users-other"), home)
	must(t, errors.Join(os.WriteFile(home+"/.gitconfig", []byte(users), 0o600), os.WriteFile(home+"/ignored", []byte("*.swp\n"), 0o600)))
	for _, name := range names {
		r.Write(name, "1\n2\n")
	}
	r.Write("sub/a", "2\n")
	w := r.ask(worktree.Query{Since: time.Unix(1, 0), Names: []string{"a.c", "none"}})
	const asked = "modified \"a.c\" +2 -1\nmodified \"a.i\" +1 -0\nmodified \"a.p\" +1 -0\nmodified \"a.u\" +1 -0\nmodified \"a.w\" +1 -0\nuntracked \"hooks/\" +0 -0\nuntracked \"included.conf\" +0 -0\n"
	if got := r.changed(w); got != asked || len(w.Committed) != 7 || len(w.Known) != 1 {
		t.Errorf("changed:\n%swant:\n%scommitted %q, known %q", got, asked, w.Committed, w.Known)
	}
	r.Write("x.swp", "the user ignores it\n")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_EXTERNAL_DIFF=" + script("environment"), "GIT_PAGER=" + script("environment")}
	differ := NewDiffer(env)
	d := value(differ.Diff(t.Context(), worktree.DiffQuery{Dir: r.Dir, Base: base}))(t)
	want := "modified \"a.c\" +2 -1\n"
	for _, name := range []string{"a.i", "a.p", "a.u", "a.w"} {
		want += "modified \"" + name + "\" +1 -0\n"
	}
	want += "untracked \"hooks/.keep\" +0 -0\nuntracked \"hooks/post-index-change\" +2 -0\nuntracked \"hooks/pre-commit\" +2 -0\nuntracked \"hooks/reference-transaction\" +2 -0\nuntracked \"included.conf\" +2 -0\n"
	wantTold(t, told(d, false), want)
	value(differ.Begin(t.Context(), r.Dir, time.Now()))(t)

	// A blob that the repository does not have would be fetched, by a command that it names.
	blob := filepath.Join(r.Dir, ".git/objects", missing[:2], missing[2:])
	must(t, os.Rename(blob, blob+"-away"))
	failed(differ.Diff(t.Context(), worktree.DiffQuery{Dir: r.Dir, Base: base}))(t, "a blob is missing, and the diff does not say so")
	equal(t, "git ran programs of the repository's choice", r.at(ran).names(), "")

	// The traps work: git alone falls into them.
	r.Git("config", "--unset", "diff.orderFile")
	for _, args := range [][]string{{"cat-file", "-p", missing}, {"status"}, {"diff", "HEAD"}, {"log", "-p"}, {"-c", "diff.external=", "diff", "HEAD"}, {"-c", "filter.evil.clean=cat", "diff", "--no-ext-diff", "HEAD"}, {"diff", "HEAD", "--", "a.p"}, {"fetch"}, {"add", "a.w", "a.i", "a.u"}} {
		limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		cmd := exec.CommandContext(limited, "git", append([]string{"-C", r.Dir}, args...)...)
		cmd.Env, cmd.WaitDelay = env[:2], time.Second
		_ = cmd.Run() // some traps make it fail
		cancel()
		_ = os.Rename(blob+"-away", blob)
	}
	got := r.at(ran).names()
	holds(t, "traps that would have been seen", got, "fsmonitor", "diff-command", "filter-clean", "filter-included", "filter-process", "filter-own", "users-filter", "ssh", "textconv", "diff-external", "gpg")
}
