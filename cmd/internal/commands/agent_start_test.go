package commands

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// TestWhatKeepsAnAgentFromStarting: an agent that opens a session again whose turn broke off has a note from its beginning, and starts
// all the same.
func TestWhatKeepsAnAgentFromStarting(t *testing.T) {
	t.Parallel()
	held := func(h daemon.Hold) *daemon.Hold { return &h }
	broke := held(daemon.Hold{Kind: daemon.HoldBrokeOff, HoldDetail: daemon.HoldDetail{AgentID: 3}})
	late := held(daemon.Hold{Kind: daemon.HoldNotRegistered, HoldDetail: daemon.HoldDetail{Limit: "1m"}})
	gone, now := "killed", time.Now()
	for _, c := range []struct {
		name       string
		began, now daemon.Agent
		want       string
	}{
		{"starting", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting}, ""},
		{"resumed", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: broke}, ""},
		{"registered", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Idle, RegisteredAt: &now, Hold: held(daemon.Hold{Kind: daemon.HoldDraft})}, ""},
		{"overdue", daemon.Agent{}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: late, Note: late.Words()}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"resumed and overdue", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Starting, Hold: late, Note: late.Words()}, "agent 4: it did not register within 1m: look at it with `understudy agent attach 4`"},
		{"ended", daemon.Agent{Hold: broke}, daemon.Agent{ID: 4, State: daemon.Ended, AgentEnd: daemon.AgentEnd{EndedAt: &now, EndReason: &gone}, Hold: broke}, "agent 4 has ended: killed"},
	} {
		got := ""
		if err := notStarting(&c.began, &c.now); err != nil {
			got = err.Error()
		}
		equal(t, c.name, got, c.want)
	}
}

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
		wantErr(t, fmt.Sprintf("%+v %q", c.tree, c.args), c.tree.into(&agents.NewAgent{}, c.args))
	}
}

// TestCalled: a name that matches exactly beats a persona, also where the persona is another agent's; both beat the beginning of a
// name.
func TestCalled(t *testing.T) {
	t.Parallel()
	persona := "developer-con-1"
	agents := []daemon.Agent{
		{ID: 3, Name: "third", Persona: &persona},
		{ID: 2, Name: persona},
		{ID: 5, Name: "third-party"}, {ID: 1, Name: "twin"}, {ID: 4, Name: "twin", Persona: new("reviewer-ada-1")},
	}
	for word, want := range map[string][]int64{
		persona: {2}, "third": {3}, "twin": {1, 4}, "reviewer-ada-1": {4}, "nobody": nil, "third-": {5}, "thi": {3, 5}, "tw": {1, 4},
	} {
		var got []int64
		for _, a := range called(agents, word) {
			got = append(got, a.ID)
		}
		equal(t, fmt.Sprintf("%s: agents", word), fmt.Sprint(got), fmt.Sprint(want))
	}
	if got := called(agents[:1], persona); len(got) != 1 || got[0].ID != 3 {
		t.Errorf("by persona alone: %+v", got)
	}
}
