package show

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
)

func TestContextWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		use  *daemon.ContextUse
		cell string
		full string
	}{
		{nil, "-", ""},
		{&daemon.ContextUse{Tokens: 86_000, Limit: new(int64(200_000)), Percent: new(43.0), Tier: daemon.TierNormal}, "43 %", "43 %, 86k of 200k tokens"},
		{&daemon.ContextUse{Tokens: 620_000, Limit: new(int64(1_000_000)), Percent: new(62.0), Tier: daemon.TierWarn}, "62 % warn", "62 % warn, 620k of 1M tokens"},
		{&daemon.ContextUse{Tokens: 755_010, Limit: new(int64(1_000_000)), Percent: new(75.5), Tier: daemon.TierHigh}, "76 % high", "76 % high, 755k of 1M tokens"},
		{&daemon.ContextUse{Tokens: 120_400}, "120k tokens", "120k tokens of a window whose size is not known"},
		{&daemon.ContextUse{Tokens: 7}, "7 tokens", "7 tokens of a window whose size is not known"},
		{&daemon.ContextUse{Tokens: 1_250_000}, "1.2M tokens", "1.2M tokens of a window whose size is not known"},
	} {
		equal(t, fmt.Sprintf("%+v", c.use), cmp.Or(views.ContextWords(c.use), "-"), c.cell)
		equal(t, fmt.Sprintf("%+v in full", c.use), views.ContextInFull(c.use), c.full)
	}
}

func TestUIEndWords(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"prompt_input_exit": "exited by /exit", "process_gone": "its process is gone", "tmux_server_gone": "its tmux server is gone",
		"its last words": "its last words",
	} {
		equal(t, reason, EndWords(&reason), want)
	}
	wantText(t, EndWords(nil), "-")
}

// TestStateCell: a list says beside the state what an agent needs a person for, unless the state says so.
func TestStateCell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state   daemon.AgentState
		trouble *daemon.Trouble
		need    views.AttentionKind
		want    string
	}{
		{daemon.Idle, nil, "", "idle"}, {daemon.Waiting, nil, views.NeedsAnswer, "waiting"}, {daemon.Idle, nil, views.NeedsRetry, "idle, failed"},
		{daemon.Ended, nil, views.NeedsHeir, "ended, died"}, {daemon.Idle, &daemon.Trouble{Code: "usage_limit"}, views.NeedsCare, "idle, usage_limit"},
		{daemon.Working, &daemon.Trouble{Code: "usage_limit"}, "", "working, usage_limit"},
	} {
		equal(t, fmt.Sprint(c.state, ", ", c.need), StateCell(&daemon.Agent{State: c.state, AgentTurn: daemon.AgentTurn{Trouble: c.trouble}}, c.need), c.want)
	}
}

// TestAgentLinesFit: a list of agents of one persona fits 80 columns, names each thing once, and tells the agents apart by where
// they work, what they wait for and what was said last.
func TestAgentLinesFit(t *testing.T) {
	t.Parallel()
	now, persona, percent := time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC), "developer-con-1", 43.0
	agent := func(id int64, state daemon.AgentState, change func(*daemon.Agent)) daemon.Agent {
		a := daemon.Agent{
			ID: id, Name: persona, Persona: &persona, Host: "one", State: state, StateAt: now.Add(-5 * time.Minute),
			AgentSession: daemon.AgentSession{Cwd: "/srv/ann/src/shop/services/checkout", Repository: "shop", Branch: "fix-cart"},
			AgentTurn:    daemon.AgentTurn{Asked: "Fix the cart of the shop, which forgets what was in it", LastMessage: "It is fixed: the session was dropped at login"}, AgentContext: daemon.AgentContext{Context: &daemon.ContextUse{Percent: &percent}},
		}
		if change != nil {
			change(&a)
		}
		return a
	}
	list := []daemon.Agent{
		agent(12, daemon.Waiting, nil), agent(11, daemon.Idle, func(a *daemon.Agent) { a.Unread = true }), agent(10, daemon.Working, func(a *daemon.Agent) { a.Name = "checkout" }), agent(9, daemon.Idle, nil),
	}
	needs := map[int64]views.Attention{12: {Kind: views.NeedsAnswer, Brief: "permission for Bash: go test ./..."}}
	table := AgentTable{Agents: list, Needs: needs, Now: now, Home: "/srv/ann"}
	lines := AgentLines(table, 80)
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	text := strings.Join(lines, "\n")
	wantIn(t, text, "WAITS FOR", "permission", "waiting 5 min", "finished 5 min", "idle 5 min", "fix-cart", "checkout", "43 %")
	for _, not := range []string{"HOST", "PERSONA"} {
		if strings.Contains(lines[0], not) {
			t.Errorf("%q says nothing here, in\n%s", not, text)
		}
	}
	if all := strings.Join(AgentLines(table, 200), "\n"); !strings.Contains(all, "~/src/shop/services/checkout fix-cart") || !strings.Contains(all, "said: It is fixed") || !strings.Contains(all, "asked: Fix the cart") || strings.Count(all, persona) != 3+4 {
		t.Errorf("at 200 columns:\n%s", all)
	}
	table.Wide, table.Agents[0].Host = true, "two"
	holds(t, "wide", strings.Join(AgentLines(table, 0), "\n"), "two", "Fix the cart of the shop, which forgets what was in it", "BRANCH")
	SortAgents(list, "state", needs)
	equal(t, "by state", []int64{list[0].ID, list[1].ID, list[2].ID, list[3].ID}, []int64{12, 11, 10, 9})
	SortAgents(list, "id", nil)
	equal(t, "by id: … first", list[0].ID, int64(9))
}
