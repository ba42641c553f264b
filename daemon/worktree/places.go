package worktree

import (
	"os"
	"path/filepath"
	"strings"
)

// Places returns the folders in which somebody who works in dir changes files: dir, or the top of the work tree that holds it, and the
// repository. fixed are those of its files that say what git runs, or where the repository is. It reads the files that git keeps, and
// runs nothing. What they say of other folders counts only if these say the same: whoever wrote the one need not own the other.
func Places(dir string) (changes, fixed []string) {
	top, gitDir := find(dir)
	common := ownGit(top, gitDir)
	switch {
	case gitDir == "":
		return []string{dir}, nil
	case common == "":
		return []string{top}, nil
	case common != filepath.Join(top, ".git"):
		fixed = append(fixed, filepath.Join(top, ".git"))
	}
	for _, at := range []string{common, gitDir, filepath.Join(common, "modules", "*")} {
		for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
			found, _ := filepath.Glob(filepath.Join(at, name)) // a name with a bracket finds nothing: its folder may be changed whole
			fixed = append(fixed, found...)
		}
	}
	return []string{top, common}, fixed
}

// ownGit returns the folder that holds what git keeps for the work tree at top; "": it is not the work tree's own, as far as that folder says.
func ownGit(top, gitDir string) string {
	at := filepath.Join(top, ".git")
	info, err := os.Lstat(at)
	switch {
	case gitDir == "" || err != nil || !info.IsDir() && !info.Mode().IsRegular():
		return ""
	case info.IsDir():
		return at
	}
	common := absolute(readLine(filepath.Join(gitDir, "commondir")), gitDir)
	if filepath.Dir(gitDir) == filepath.Join(common, "worktrees") && same(absolute(readLine(filepath.Join(gitDir, "gitdir")), gitDir), at) {
		return common
	}
	config, _ := os.ReadFile(filepath.Join(gitDir, "config")) // of a submodule
	for line := range strings.Lines(string(config)) {
		if to, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree = "); ok && same(absolute(to, gitDir), top) {
			return gitDir
		}
	}
	return ""
}

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
