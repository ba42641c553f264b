package worktree

import (
	"io/fs"
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
	for _, at := range gitDirs(common, gitDir) {
		for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
			if path := filepath.Join(at, name); exists(path) {
				fixed = append(fixed, path)
			}
		}
	}
	return []string{top, common}, fixed
}

// gitDirs lists the folders of a repository that have settings: its own, those of its work trees, and those of its submodules, whose names may
// have slashes.
func gitDirs(common, gitDir string) []string {
	dirs := []string{common, gitDir}
	trees, _ := os.ReadDir(filepath.Join(common, "worktrees")) // without any there is no such folder
	for _, tree := range trees {
		dirs = append(dirs, filepath.Join(common, "worktrees", tree.Name()))
	}
	_ = filepath.WalkDir(filepath.Join(common, "modules"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case exists(filepath.Join(path, "HEAD")):
			dirs = append(dirs, path)
		case d.Name() == "objects", d.Name() == "refs", d.Name() == "logs":
			return fs.SkipDir
		}
		return nil
	})
	return dirs
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
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
