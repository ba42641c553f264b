package commands

import (
	"testing"

	"github.com/understudyd/understudy/daemon/agents"
)

// TestStartInAWorktree: the branch may follow --worktree with and without an equals sign, before and after the persona.
func TestStartInAWorktree(t *testing.T) {
	const con = "developer-con-1"
	for _, c := range []struct {
		branch  string // the value of --worktree
		args    []string
		persona string
		want    string
	}{
		{ownBranch, []string{con}, con, ""},
		{ownBranch, nil, "", ""},
		{ownBranch, []string{"fix-login", con}, con, "fix-login"},
		{ownBranch, []string{con, "fix-login"}, con, "fix-login"},
		{ownBranch, []string{con, "developer-con-2"}, con, "developer-con-2"},
		{ownBranch, []string{"fix/login"}, "", "fix/login"},
		{"fix-login", []string{con}, con, "fix-login"},
	} {
		var in agents.NewAgent
		err := startTree{asked: true, branch: c.branch}.into(&in, c.args)
		if err != nil || in.Persona != c.persona || in.Worktree == nil || in.Worktree.Branch != c.want {
			t.Errorf("%q %q: persona %q, tree %+v, %v", c.branch, c.args, in.Persona, in.Worktree, err)
		}
	}
	for _, c := range []struct {
		tree startTree
		args []string
	}{
		{startTree{}, []string{con, "fix-login"}},
		{startTree{asked: true, branch: "fix-login"}, []string{con, "fix-login"}},
		{startTree{base: "main"}, []string{con}},
	} {
		if err := c.tree.into(&agents.NewAgent{}, c.args); err == nil {
			t.Errorf("%+v %q is taken", c.tree, c.args)
		}
	}
}
