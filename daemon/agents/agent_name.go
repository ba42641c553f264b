package agents

import (
	"context"
	"strconv"

	"github.com/understudyd/understudy/daemon"
)

// namesRead is how many active agents are read for their names.
const namesRead = 500

// agentLister is what FreeName needs of the store.
type agentLister interface {
	Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error)
}

// FreeName returns a name for an agent to which nobody has given one: its persona's slug or its folder, and if an active agent has
// that name, the branch of its work tree, else the name with a number. If two agents are made in the same moment, both may get the same name.
func FreeName(ctx context.Context, st agentLister, a *daemon.Agent, branch string) (string, error) {
	active, err := st.Agents(ctx, daemon.AgentFilter{Active: true, Limit: namesRead})
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for i := range active {
		taken[active[i].Name] = true
	}
	if name := PlainName(branch, MaxName); taken[a.Name] && branch != "" && !taken[name] && CheckName(name) == nil {
		return name, nil
	}
	name := a.Name
	for n := 2; taken[name]; n++ {
		name = a.Name + "-" + strconv.Itoa(n)
	}
	return name, nil
}
