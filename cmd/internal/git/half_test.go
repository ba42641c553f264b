package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
)

// halfMade is a repository with a tree without files, and with the registration of one that is gone.
var halfMade = fixture{make: func(t testing.TB, root string) {
	r := repoAt(t, root+"/repository")
	must(t, os.CopyFS(r.Dir, os.DirFS(treeRepo.copied(t)+"/repository")))
	r.Git("worktree", "add", "-q", root+"/trees/1-stale", "-b", "stale")
	must(t, os.RemoveAll(root+"/trees/1-stale"))
	r.Git("worktree", "add", "-q", "--no-checkout", root+"/trees/1", "-b", "new")
}}

// TestTreesHalfMade: whatever git had done when it was killed, the tree is made, once, and what
// else is stale is left alone.
func TestTreesHalfMade(t *testing.T) {
	t.Parallel()
	type tree struct{ repo, path, admin string }
	do := func(errs ...error) func() error { return func() error { return errors.Join(errs...) } }
	for name, half := range map[string]func(tree) func() error{
		"the folder alone": func(x tree) func() error {
			return do(os.RemoveAll(x.admin), os.RemoveAll(x.path), os.MkdirAll(x.path, 0o755))
		},
		"an empty .git":      func(x tree) func() error { return do(os.Truncate(x.path+"/.git", 0)) },
		"no commondir":       func(x tree) func() error { return do(os.Remove(x.admin + "/commondir")) },
		".git, unregistered": func(x tree) func() error { return do(os.RemoveAll(x.admin)) },
		"registered, gone":   func(x tree) func() error { return do(os.RemoveAll(x.path)) },
		"locked, gone": func(x tree) func() error {
			return do(os.RemoveAll(x.path), os.WriteFile(x.admin+"/locked", []byte("initializing"), 0o600))
		},
		"locked, no HEAD": func(x tree) func() error {
			return do(os.Remove(x.admin+"/HEAD"), os.WriteFile(x.admin+"/locked", []byte("initializing"), 0o600))
		},
		"empty HEAD": func(x tree) func() error { return do(os.Truncate(x.admin+"/HEAD", 0)) },
		"no files":   func(x tree) func() error { return do() },
		"some files, a lock": func(x tree) func() error {
			return do(os.WriteFile(x.path+"/a.go", nil, 0o600), os.WriteFile(x.admin+"/index.lock", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := halfMade.copied(t)
			r, path := repoAt(t, root+"/repository"), root+"/trees/1"
			must(t, half(tree{r.Dir, path, r.Dir + "/.git/worktrees/1"})())
			r.add("new", path).wantTree("new", r.says("rev-parse", "main"), path)
			list := r.says("worktree", "list", "--porcelain")
			if strings.Count(list, "worktree ") != 3 || strings.Count(list, "worktree "+path+"\n") != 1 || !strings.Contains(list, path+"-stale\n") {
				t.Errorf("trees:\n%s", list)
			}
		})
	}
}

// TestTreesKilled kills git while it fills a tree. A filter of the user's tells when that is.
func TestTreesKilled(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.Write(".gitattributes", "z filter=slow\n")
	r.commits("z", "last\n")
	home := t.TempDir()
	must(t, syscall.Mkfifo(home+"/fifo", 0o600))
	config := func(smudge string) {
		must(t, os.WriteFile(home+"/.gitconfig", []byte("[filter \"slow\"]\n\trequired\n\tclean = cat\n\tsmudge = \""+smudge+"\"\n"), 0o600))
	}
	trees := newTrees([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"})
	config("echo $$ > '" + home + "/fifo'; exec sleep 1000")

	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	done := make(chan error)
	go func() {
		_, err := trees.Add(ctx, r.Dir, "new", path)
		done <- err
	}()
	line := value(os.ReadFile(home + "/fifo"))(t) // waits for the filter
	pid := value(strconv.Atoi(strings.TrimSpace(string(line))))(t)
	group, err := syscall.Getpgid(pid)
	if err != nil || group == syscall.Getpgrp() {
		t.Fatalf("the filter is not in a group of git's: %d, %v", group, err)
	}
	must(t, syscall.Kill(-group, syscall.SIGSTOP)) // so that it can't tidy up before it is killed
	cancel(killed)
	wantErr(t, "killed", <-done, killed)
	value(os.Stat(r.Dir + "/.git/worktrees/1/index.lock"))(t)

	// A filter that fails is no half-made tree, whose branch nobody could use.
	config("false")
	_, err = trees.Add(t.Context(), r.Dir, "new", path)
	want := "git could not check out new into " + path + " (fatal: z: smudge filter slow failed): see whether `git worktree add` can in " + r.Dir
	if err == nil || err.Error() != want {
		t.Errorf("a filter that fails: %v\nwant %s", err, want)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || strings.Contains(r.says("worktree", "list"), path) {
		t.Errorf("the tree that could not be made is there: %v", err)
	}

	config("tr a-z A-Z")
	value(trees.Add(t.Context(), r.Dir, "new", path))(t)
	r.at(path).holds("z", "LAST\n") // which the user's filter has made
}

// TestTreesAtOnce: of several that want the same branch, one gets it; the same path is made once.
func TestTreesAtOnce(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.Git("branch", "old")
	trees := newTrees(cmdtest.GitTestEnv())
	for _, branch := range []string{"new", "old"} {
		errs := make(chan error)
		for i := range 4 {
			go func() {
				_, err := trees.Add(t.Context(), r.Dir, branch, fmt.Sprintf("%s-%s-%d", path, branch, i/2))
				errs <- err
			}()
		}
		made := 0
		for range 4 {
			if err := <-errs; err == nil {
				made++
			} else if !strings.HasPrefix(err.Error(), "the branch "+branch+" is checked out in "+path+"-"+branch) {
				t.Error(err)
			}
		}
		if list := r.says("worktree", "list"); made != 2 || strings.Count(list, "["+branch+"]") != 1 {
			t.Errorf("%s: %d got it\n%s", branch, made, list)
		}
	}
}

// TestBranchNames: what the daemon takes for the name of a branch is what git takes for one.
func TestBranchNames(t *testing.T) {
	t.Parallel()
	b := value(os.ReadFile("../../../daemon/worktree/testdata/branches.txt"))(t)
	r := newRepo(t)
	for line := range strings.Lines(string(b)) {
		verdict, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verdict == "#" {
			continue
		}
		name, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "check-ref-format", "--branch", name)
		cmd.Dir, cmd.Env = r.Dir, cmdtest.GitTestEnv()
		if err := cmd.Run(); (err == nil) != (verdict == "yes") {
			t.Errorf("%q: %s, but git says: %v", name, verdict, err)
		}
	}
}
