package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/daemon/worktree"
)

// signed commits a change of a file with a signature, so to speak.
func (r repo) signed(t *testing.T, name string) {
	t.Helper()
	r.Write(name, "signed, so to speak\n")
	r.Git("add", name)
	fake := filepath.Join(t.TempDir(), "gpg") // signs by saying so
	writeScript(t, fake, "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n")
	r.Git("-c", "gpg.program="+fake, "-c", "user.name=n", "-c", "user.email=e@localhost", "commit", "-q", "-S", "-m", "signed")
}

// changing is a git that has the repository's configuration name a program before each command of that name, as an
// agent may between two of ours.
func changing(t *testing.T, r repo, command, key, program string) []string {
	t.Helper()
	return gitThat(t, `case " $* " in *" `+command+` "*) (cd '`+r.Dir+`' && env -u GIT_DIR -u GIT_COMMON_DIR -u GIT_WORK_TREE $git config `+key+` "`+program+`");; esac; exec $git "$@"`)
}

// TestWorktreeChangesUnderway: a repository whose configuration changes between two commands, or has an include that
// says something else each time, gets no program run.
func TestWorktreeChangesUnderway(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	writeScript(t, program, "#!/bin/sh\ntouch '"+ran+"'\ncat\n")
	wantQuiet := func(when string) {
		t.Helper()
		wantErr(t, when+": git ran a program of the tree's", os.Remove(ran))
	}
	r.Write(".gitattributes", "*.c filter=late\n")
	r.commits("a.c", "1\n")
	for _, command := range []string{"status", "diff", "log", "ls-files"} {
		r.Write("a.c", command)
		w := value(Ask(changing(t, r, command, "filter.late.clean", program))(t.Context(), worktree.Query{Dir: r.Dir, Since: time.Unix(1, 0), Names: []string{"none"}}))(t)
		equal(t, command+": changed", len(w.Changed), 1)
		wantQuiet("changed before " + command)
		r.Git("config", "--unset", "filter.late.clean")
	}

	include := filepath.Join(t.TempDir(), "include")
	must(t, syscall.Mkfifo(include, 0o600))
	r.Git("config", "include.path", include)
	for innocent := range 5 { // so many reads get nothing, those after them the program
		done := make(chan struct{})
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for n := 0; ; n++ {
				f, err := os.OpenFile(include, os.O_WRONLY, 0) // waits until somebody reads
				if err != nil {
					return
				}
				select {
				case <-done:
					f.Close()
					return
				default:
				}
				if n >= innocent {
					fmt.Fprintf(f, "[filter \"late\"]\n\tclean = %s\n", program)
				}
				f.Close()
			}
		}()
		r.Write("a.c", fmt.Sprint("changed ", innocent))
		value(Ask(cmdtest.GitTestEnv())(t.Context(), worktree.Query{Dir: r.Dir}))(t)
		close(done)
		end := value(os.OpenFile(include, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
		<-wrote
		end.Close()
		wantQuiet(fmt.Sprintf("an include that changes after %d reads", innocent))
	}
}

// TestTreesChangeUnderway: the same for a tree that is made and removed.
func TestTreesChangeUnderway(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	r.commits(".gitattributes", "*.go filter=late\n")
	program := "touch '" + ran + "'; cat"
	value(newTrees(changing(t, r, "reset", "filter.late.smudge", program)).Add(t.Context(), r.Dir, "new", path))(t)
	must(t, os.Chtimes(path+"/a.go", time.Now(), time.Unix(1, 0))) // so that git looks into it
	equal(t, "removing it", value(newTrees(changing(t, r, "status", "filter.late.clean", program)).Remove(t.Context(), r.Dir, path))(t), "")
	failed(os.Stat(ran))(t, "git ran a program of the tree's")
	equal(t, "the configuration was not changed under way", r.says("config", "filter.late.smudge")+r.says("config", "filter.late.clean"), program+program)
}

// TestShieldKeepsSettings: what a repository says of how its files and objects are kept goes on counting, what names
// a program does not.
func TestShieldKeepsSettings(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.configure(map[string]string{
		"core.autocrlf": "input", "core.excludesFile": `/a "b" \c	d#;`, "remote.origin.url": "https://example.org/a.git",
		"remote.evil.url": "ext::touch ran", "core.sshCommand": "touch ran", "lfs.customtransfer.evil.path": "ran", "credential.helper": "!touch ran",
	})
	s := value(git{env: gitEnv(cmdtest.GitTestEnv()), dir: r.Dir}.shielded(t.Context()))(t)
	defer s.close()
	got := value(s.output(t.Context(), "config", "--list", "--local"))(t)
	want := "core.bare=false\ncore.filemode=true\ncore.autocrlf=input\ncore.excludesfile=/a \"b\" \\c\td#;\nremote.origin.url=https://example.org/a.git\n"
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	slices.Sort(lines)
	wants := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	slices.Sort(wants)
	equal(t, "settings", lines, wants)
	s.close()
	failed(os.Stat(s.folder))(t, "the shield is left", os.ErrNotExist)
}

// TestWorktreeFiltersOfTheUser: what the user has configured, as for git-lfs, goes on working: else
// files would seem to be changed.
func TestWorktreeFiltersOfTheUser(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	home := t.TempDir()
	must(t, os.WriteFile(home+"/.gitconfig", []byte("[filter \"upper\"]\n\tclean = tr a-z A-Z\n"), 0o600))
	r.Write(".gitattributes", "*.c filter=upper\n")
	r.commits("a.c", "TEXT\n")
	r.Write("a.c", "text\n")
	w := value(Ask([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})(t.Context(), worktree.Query{Dir: r.Dir}))(t)
	equal(t, "changed", r.changed(w), "")
}

// writeScript writes a program for a test.
func writeScript(t *testing.T, path, text string) {
	t.Helper()
	must(t, proc.WriteProgram(path, []byte(text)))
}

// gitThat is a PATH whose git runs a script first; `$git` is the real one.
func gitThat(t *testing.T, script string) []string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("the tests need git: ", err)
	}
	dir := t.TempDir()
	writeScript(t, dir+"/git", "#!/bin/sh\ngit="+path+"\n"+script+"\n")
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_SECRET=1"}
}

// TestWorktreeFailures: a git that can't answer is an error that names the fix.
func TestWorktreeFailures(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commits("a", "1\n")
	r.Write("b", "1\n")
	for name, tt := range map[string]struct{ script, want string }{
		"another user's": {
			`GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec $git "$@"`,
			"git does not trust " + r.Dir + ", which belongs to another user: run `git config --global --add safe.directory " + r.Dir + "` as the daemon's user",
		},
		"broken": {
			`case "$*" in *status*) echo "fatal: bad object" >&2; exit 128;; esac; exec $git "$@"`,
			"git status failed in " + r.Dir + " (fatal: bad object): see what `git status` says there",
		},
		"silent":        {`exit 3`, "git rev-parse failed in " + r.Dir + " (exit code 3): see what `git rev-parse` says there"},
		"slow":          {`case "$*" in *status*) sleep 1000;; esac; exec $git "$@"`, "git status took more than 2s in " + r.Dir + ": see why `git status` is slow there"},
		"talkative":     {`case "$*" in *status*) cat /dev/zero;; esac; exec $git "$@"`, "git status in " + r.Dir + ": too much output: put what is generated there into .gitignore"},
		"with our GIT_": {`[ -z "$GIT_SECRET" ] || exit 3; exec $git "$@"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := Ask(gitThat(t, tt.script))(t.Context(), worktree.Query{Dir: r.Dir, Names: []string{"a"}})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want || err == nil && (len(w.Changed) != 1 || len(w.Known) != 1) {
				t.Errorf("error %s\nwant  %s; %+v", got, tt.want, w)
			}
		})
	}

	// What was found before the trouble is told.
	w, err := Ask(gitThat(t, `case "$*" in *ls-files*) exit 1;; esac; exec $git "$@"`))(t.Context(), worktree.Query{Dir: r.Dir, Names: []string{"a"}})
	if err == nil || w.Top != r.Dir || !strings.Contains(r.changed(w), `untracked "b"`) {
		t.Errorf("part of it: %+v, %v", w, err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("out of time")
	cancel(why)
	failed(Ask(cmdtest.GitTestEnv())(ctx, worktree.Query{Dir: r.Dir}))(t, "ended", why)
}
