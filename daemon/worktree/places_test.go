package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlaces: what a repository, a linked work tree and a submodule change; and that no file of a repository makes another one its own.
func TestPlaces(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	cmd := exec.Command("sh", "-c", `set -e; export GIT_CONFIG_GLOBAL=/dev/null; g() { git -c user.name=a -c user.email=a@b -c protocol.file.allow=always "$@"; }
		g init -q repo; mkdir repo/sub; g -C repo commit -q --allow-empty -m a; g -C repo worktree add -q ../tree 2>&1; g -C repo submodule --quiet add "$PWD/repo" libs/mod 2>&1
		mkdir plain file link common secret; touch secret/HEAD
		echo "gitdir: $PWD/repo/.git" >file/.git; ln -s "$PWD/repo/.git" link/.git; cp -r repo/.git common/.git; echo "$PWD/secret" >common/.git/commondir`)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for dir, want := range map[string]string{
		"plain": "plain", "repo/sub": "repo repo/.git", "tree": "tree repo/.git", "repo/libs/mod": "repo/libs/mod repo/.git/modules/libs/mod",
		"file": "file", "link": "link", "common": "common common/.git",
	} {
		changes, fixed := Places(filepath.Join(root, dir))
		equal(t, dir, strings.ReplaceAll(strings.Join(changes, " "), root+"/", ""), want)
		if len(changes) > 1 && !slices.Contains(fixed, filepath.Join(changes[1], "config")) {
			t.Errorf("%s: git's settings are not among %v", dir, fixed)
		}
	}
	_, fixed := Places(filepath.Join(root, "repo"))
	equal(t, "a submodule's settings are fixed", slices.Contains(fixed, filepath.Join(root, "repo/.git/modules/libs/mod/config")), true)
	must(t, os.RemoveAll(filepath.Join(root, "repo/.git/worktrees/tree/gitdir")))
	changes, _ := Places(filepath.Join(root, "tree"))
	equal(t, "a tree that its repository does not know", len(changes), 1)
}
