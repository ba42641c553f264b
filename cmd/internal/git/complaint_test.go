package git

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/worktree"
)

func TestComplaint(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", "exit code 3"},
		{"\n \n", "exit code 3"},
		{"fatal: bad object", "fatal: bad object"},
		{"git-lfs filter-process: 1: git-lfs: not found\nfatal: the remote end hung up unexpectedly\n", "git-lfs filter-process: 1: git-lfs: not found"},
		{"git-lfs filter-process: line 1: git-lfs: command not found\nfatal: the remote end hung up unexpectedly\n", "git-lfs filter-process: line 1: git-lfs: command not found"},
		{"Downloading a.bin (3 B)\nError downloading object: a.bin (2fe): Smudge error: 404\n\nErrors logged to '/x'.\nerror: external filter 'git-lfs filter-process' failed\nfatal: a.bin: smudge filter lfs failed\n", "Error downloading object: a.bin (2fe): Smudge error: 404"},
		{"error: external filter 'nowhere' failed 1\nfatal: a.bin: smudge filter up failed\n", "fatal: a.bin: smudge filter up failed"},
		{"fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems to be running in this repository\nremove the file manually to continue.\n", "fatal: Unable to create '/r/.git/index.lock': File exists."},
		{"fatal: transport 'file' not allowed\nfatal: could not fetch 12ab from promisor remote\n", "fatal: could not fetch 12ab from promisor remote"},
		{"warning: unable to access '/x': Permission denied\nhint: look\nUpdating files: 40%\rUpdating files: 90%\rerror: unable to create file a: No space left on device\nfatal: could not reset\n", "error: unable to create file a: No space left on device"},
		{"fatal: early EOF\n", "fatal: early EOF"},
		{"Encountered 1 file that should have been a pointer:\n\ta.bin\nerror: unable to read sha1 file of a\nfatal: could not reset\n", "error: unable to read sha1 file of a"},
		{"Switched to a new branch\nsmudge: 1: gpg: not found\nfatal: a: smudge filter crypt failed\n", "smudge: 1: gpg: not found"},
		{"usage: git worktree\n", "usage: git worktree"},
		{"fatal: \x1b[31mred\a\n", "fatal: [31mred"},
		{"fatal: " + strings.Repeat("x", 2000), "fatal: " + strings.Repeat("x", maxComplaint-8) + "…"},
	} {
		equal(t, fmt.Sprintf("of %.200q", c[0]), complaint(c[0], 3), c[1])
	}
}

// TestCauseIsQuoted: what the real git says, and what is said of it.
func TestCauseIsQuoted(t *testing.T) {
	t.Parallel()
	r, path := newTreeRepo(t)
	r.personal()
	r.Write(".gitattributes", "*.bin filter=lfs\n")
	r.commits("x.bin", "1\n")
	home := t.TempDir()
	must(t, os.WriteFile(home+"/.gitconfig", []byte("[filter \"lfs\"]\n\tprocess = git-lfs-that-is-missing filter-process\n\trequired = true\n"), 0o600))
	_, err := newTrees([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}).Add(t.Context(), r.Dir, "new", path)
	if err == nil || !strings.Contains(err.Error(), "git-lfs-that-is-missing: ") || !strings.Contains(err.Error(), "not found") || !absent(path) || r.says("branch", "--list", "new") != "" {
		t.Errorf("without the filter: %v", err)
	}

	r.make(worktree.Spec{Branch: "new", Path: path})
	r.at(path).commits("one", "1\n")
	r.Write(".git/index.lock", "")
	if m := r.merge(path, "main"); !strings.Contains(m.Refused, "index.lock': File exists.") || strings.Contains(m.Refused, "manually") {
		t.Errorf("a lock: %+v", m)
	}
	r.Remove(".git/index.lock")

	r.Git("config", "uploadpack.allowFilter", "true")
	part := r.at(realDir(t) + "/part")
	r.Git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+r.Dir, part.Dir)
	_, err = newTrees(cmdtest.GitTestEnv()).Add(t.Context(), part.Dir, "other", path+"-part")
	if err == nil || !strings.Contains(err.Error(), "(error: ") || !strings.Contains(err.Error(), "the clone is partial") || !absent(path+"-part") || part.says("branch", "--list", "other") != "" {
		t.Fatalf("a partial clone: %v", err)
	}
	_, said, _ := strings.Cut(err.Error(), "`")
	said, _, _ = strings.Cut(said, "`")
	do := exec.CommandContext(t.Context(), "sh", "-c", said) // what the sentence says helps
	do.Dir, do.Env = part.Dir, cmdtest.GitTestEnv()
	if out, err := do.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", said, err, out)
	}
	part.add("other", path+"-part").wantTree("other", part.says("rev-parse", "HEAD"), path+"-part")
}
