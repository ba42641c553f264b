package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHeadAsGitHasIt: repository and branch are those of real repositories, also from a folder below, in a linked work tree
// and without a branch.
func TestHeadAsGitHasIt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := filepath.Join(root, "shop")
	git := func(dir string, args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", dir}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must(t, os.MkdirAll(filepath.Join(repo, "a", "b"), 0o700))
	git(repo, "init", "-q", "-b", "feature/cart")
	check := func(dir, repository, branch string) {
		t.Helper()
		if r, b := Head(dir); r != repository || b != branch {
			t.Errorf("%s: %q %q, want %q %q", dir, r, b, repository, branch)
		}
	}
	check(repo, "shop", "feature/cart") // before the first commit
	git(repo, "commit", "-q", "--allow-empty", "-m", "one")
	check(filepath.Join(repo, "a", "b"), "shop", "feature/cart")
	linked := filepath.Join(root, "elsewhere")
	git(repo, "worktree", "add", "-q", "-b", "fix", linked)
	check(linked, "shop", "fix")
	git(repo, "checkout", "-q", "--detach")
	check(repo, "shop", git(repo, "rev-parse", "HEAD")[:8])
	check(root, "", "")
}

// TestHeadOfAHostileRepository: nothing but branches and commits is read out of files, and nothing waits.
func TestHeadOfAHostileRepository(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "HEAD")
	must(t, os.WriteFile(secret, []byte("token 12345\n"), 0o600))
	for name, prepare := range map[string]func(gitDir string) error{
		"another file": func(g string) error { return os.Symlink(secret, filepath.Join(g, "HEAD")) },
		"a pipe":       func(g string) error { return syscall.Mkfifo(filepath.Join(g, "HEAD"), 0o600) },
		"a device":     func(g string) error { return os.Symlink("/dev/zero", filepath.Join(g, "HEAD")) },
		"no branch": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/tags/x\n"), 0o600)
		},
		"an escape sequence": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/heads/a\x1b[2J\n"), 0o600)
		},
		"a very long branch": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/heads/"+strings.Repeat("a", 5000)), 0o600)
		},
		"bytes that no text has": func(g string) error {
			return os.WriteFile(filepath.Join(g, "HEAD"), []byte("ref: refs/heads/\xff"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700))
			must(t, prepare(filepath.Join(dir, ".git")))
			if _, branch := Head(dir); branch != "" {
				t.Errorf("branch %q", branch)
			}
		})
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+filepath.Dir(secret)+"\n"), 0o600))
	if repository, branch := Head(dir); branch != "" || repository != filepath.Base(dir) {
		t.Errorf("%q %q", repository, branch)
	}
}
