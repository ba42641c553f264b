package handoffs

import (
	"context"
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

type namedAgents []daemon.Agent

func (l namedAgents) Agents(context.Context, daemon.AgentFilter) ([]daemon.Agent, error) {
	return l, nil
}

// TestTwoAgentsOfAPersonaHaveTwoNames: the second is named after its branch or gets a number.
func TestTwoAgentsOfAPersonaHaveTwoNames(t *testing.T) {
	t.Parallel()
	named := func(names ...string) (l namedAgents) {
		for _, name := range names {
			l = append(l, daemon.Agent{Name: name})
		}
		return l
	}
	for _, test := range []struct {
		there        namedAgents
		branch, want string
	}{
		{nil, "", "dev-con-1"},
		{nil, "fix", "dev-con-1"},
		{named("dev-con-1"), "", "dev-con-1-2"},
		{named("dev-con-1", "dev-con-1-2"), "", "dev-con-1-3"},
		{named("dev-con-1-2"), "", "dev-con-1"},
		{named("dev-con-1"), "Fix/The Cart", "fix-the-cart"},
		{named("dev-con-1", "fix"), "fix", "dev-con-1-2"},
		{named("dev-con-1"), "list", "dev-con-1-2"},
	} {
		equal(t, fmt.Sprintf("beside %v with branch %q", test.there, test.branch), value(agents.FreeName(t.Context(), test.there, &daemon.Agent{Name: "dev-con-1"}, test.branch))(t), test.want)
	}
	// Nobody has given such a name, so an heir that plays another persona is named after that.
	slug := "dev-con-1"
	for name, want := range map[string]string{slug: "qa-sol-1", slug + "-2": "qa-sol-1", slug + "-fix": slug + "-fix", "checkout": "checkout"} {
		equal(t, "the heir of "+name+" is", HeirName(&daemon.Agent{Name: name, Persona: &slug}, &daemon.Heir{Persona: "qa-sol-1"}), want)
	}
}
