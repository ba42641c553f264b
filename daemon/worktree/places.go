package worktree

import "path/filepath"

// Places returns the folders in which somebody who works in dir changes files: dir, or the top of the work tree that holds it, and the
// repository. fixed are those of its files that say what git runs, or where the repository is. It reads the files that git keeps, and
// runs nothing.
func Places(dir string) (changes, fixed []string) {
	top, gitDir := find(dir)
	if gitDir == "" {
		return []string{dir}, nil
	}
	common := gitDir
	if to := readLine(filepath.Join(gitDir, "commondir")); to != "" {
		common = absolute(to, gitDir)
	}
	if gitDir != filepath.Join(top, ".git") {
		fixed = append(fixed, filepath.Join(top, ".git"))
	}
	for _, at := range []string{common, gitDir, filepath.Join(common, "modules", "*")} {
		for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
			found, _ := filepath.Glob(filepath.Join(at, name)) // a name with a bracket finds nothing: its folder may be changed whole
			fixed = append(fixed, found...)
		}
	}
	return []string{top, common, gitDir}, fixed
}
