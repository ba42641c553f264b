package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreflightNamesWhatIsWrong: each thing that would leave a new agent unable to work has a code and a sentence with the fix.
func TestPreflightNamesWhatIsWrong(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removing := &TreeTask{Do: TreeRemove}
	tree := func(id int64, path string, s TreeState, task *TreeTask) Worktree {
		return Worktree{ID: id, Path: path, State: s, Task: task}
	}
	id := int64(4)
	for _, c := range []struct {
		name  string
		next  Agent
		trees []Worktree
		code  Code
		says  string
	}{
		{name: "fine", next: Agent{Cwd: root}},
		{name: "gone", next: Agent{Cwd: filepath.Join(root, "gone")}, code: CodeBadDirectory, says: "put it back"},
		{name: "a file", next: Agent{Cwd: file}, code: CodeBadDirectory, says: "is no directory"},
		{name: "below a file", next: Agent{Cwd: filepath.Join(file, "x")}, code: CodeBadDirectory, says: "then try again"},
		{name: "tree removed", next: Agent{Cwd: root, WorktreeID: &id}, trees: []Worktree{tree(4, root, TreeRemoved, nil)}, code: CodeWorktreeRemoved, says: "worktree restore 4"},
		{name: "tree never made", next: Agent{Cwd: root, WorktreeID: &id}, trees: []Worktree{tree(4, root, TreeFailed, nil)}, code: CodeWorktreeRemoved, says: "start another agent"},
		{name: "tree being removed", next: Agent{Cwd: root, WorktreeID: &id}, trees: []Worktree{tree(4, root, TreeStanding, removing)}, code: CodeWorktreeBusy, says: "worktree restore 4"},
		{name: "tree being merged", next: Agent{Cwd: root, WorktreeID: &id}, trees: []Worktree{tree(4, root, TreeStanding, &TreeTask{Do: TreeMerge})}},
		{name: "moved out of a tree that was removed", next: Agent{Cwd: root, WorktreeID: &id}, trees: []Worktree{tree(4, root+"/tree", TreeRemoved, nil)}},
		{name: "moved into the tree of another line that is being removed", next: Agent{Cwd: root}, trees: []Worktree{tree(9, root, TreeStanding, removing)}, code: CodeWorktreeBusy, says: "worktree restore 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := preflight(&c.next,
				func(next *Agent) error { return treeStays(context.Background(), treesOf(c.trees), next) },
				func(next *Agent) error { return Enterable(next.Cwd) })
			told, _ := errors.AsType[*Error](err)
			switch {
			case c.code == "" && err != nil, c.code != "" && (told == nil || told.Code != c.code || !strings.Contains(told.Message, c.says)):
				t.Errorf("got %v, want code %q and %q", err, c.code, c.says)
			}
		})
	}
}

// TestPreflightRefusesWhatCannotBeEntered: a directory without the right to enter it is refused, but to root.
func TestPreflightRefusesWhatCannotBeEntered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shut")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := Enterable(dir); (err == nil) != (os.Geteuid() == 0) {
		t.Errorf("got %v as user %d", err, os.Geteuid())
	}
}

// treesOf reads work trees from a list.
type treesOf []Worktree

func (l treesOf) Worktree(_ context.Context, id int64) (Worktree, error) {
	for _, t := range l {
		if t.ID == id {
			return t, nil
		}
	}
	return Worktree{}, ErrNotFound
}

func (l treesOf) Worktrees(_ context.Context, f WorktreeFilter) (out []Worktree, err error) {
	for _, t := range l {
		if !f.There || t.State == TreePlanned || t.State == TreeStanding {
			out = append(out, t)
		}
	}
	return out, nil
}
