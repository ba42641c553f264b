package agents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestPreflightNamesWhatIsWrong: each thing that would leave a new agent unable to work has a code and a sentence with the fix.
func TestPreflightNamesWhatIsWrong(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	removing := &daemon.TreeTask{Do: daemon.TreeRemove}
	tree := func(id int64, path string, s daemon.TreeState, task *daemon.TreeTask) daemon.Worktree {
		return daemon.Worktree{ID: id, Path: path, State: s, Task: task}
	}
	id := int64(4)
	for _, c := range []struct {
		name  string
		next  daemon.Agent
		trees []daemon.Worktree
		code  daemon.Code
		says  string
	}{
		{name: "fine", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}}},
		{name: "gone", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: filepath.Join(root, "gone")}}, code: daemon.CodeBadDirectory, says: "put it back"},
		{name: "a file", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: file}}, code: daemon.CodeBadDirectory, says: "is no directory"},
		{name: "below a file", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: filepath.Join(file, "x")}}, code: daemon.CodeBadDirectory, says: "then try again"},
		{name: "tree removed", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}, WorktreeID: &id}, trees: []daemon.Worktree{tree(4, root, daemon.TreeRemoved, nil)}, code: daemon.CodeWorktreeRemoved, says: "worktree restore 4"},
		{name: "tree never made", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}, WorktreeID: &id}, trees: []daemon.Worktree{tree(4, root, daemon.TreeFailed, nil)}, code: daemon.CodeWorktreeRemoved, says: "start another agent"},
		{name: "tree being removed", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}, WorktreeID: &id}, trees: []daemon.Worktree{tree(4, root, daemon.TreeStanding, removing)}, code: daemon.CodeWorktreeBusy, says: "worktree restore 4"},
		{name: "tree being merged", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}, WorktreeID: &id}, trees: []daemon.Worktree{tree(4, root, daemon.TreeStanding, &daemon.TreeTask{Do: daemon.TreeMerge})}},
		{name: "moved out of a tree that was removed", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}, WorktreeID: &id}, trees: []daemon.Worktree{tree(4, root+"/tree", daemon.TreeRemoved, nil)}},
		{name: "moved into the tree of another line that is being removed", next: daemon.Agent{AgentSession: daemon.AgentSession{Cwd: root}}, trees: []daemon.Worktree{tree(9, root, daemon.TreeStanding, removing)}, code: daemon.CodeWorktreeBusy, says: "worktree restore 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := preflight(&c.next,
				func(next *daemon.Agent) error { return treeStays(context.Background(), treesOf(c.trees), next) },
				func(next *daemon.Agent) error { return Enterable(next.Cwd) })
			told, _ := errors.AsType[*daemon.Error](err)
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
	must(t, os.Mkdir(dir, 0))
	if err := Enterable(dir); (err == nil) != (os.Geteuid() == 0) {
		t.Errorf("got %v as user %d", err, os.Geteuid())
	}
}

// treesOf reads work trees from a list.
type treesOf []daemon.Worktree

func (l treesOf) Worktree(_ context.Context, id int64) (daemon.Worktree, error) {
	for _, t := range l {
		if t.ID == id {
			return t, nil
		}
	}
	return daemon.Worktree{}, daemon.ErrNotFound
}

func (l treesOf) Worktrees(_ context.Context, f daemon.WorktreeFilter) (out []daemon.Worktree, err error) {
	for _, t := range l {
		if !f.There || t.State == daemon.TreePlanned || t.State == daemon.TreeStanding {
			out = append(out, t)
		}
	}
	return out, nil
}
