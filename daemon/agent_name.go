package daemon

import (
	"context"
	"strconv"
	"strings"
)

// namesRead is how many active agents are read for their names.
const namesRead = 500

// agentLister is what freeName needs of the store.
type agentLister interface {
	Agents(ctx context.Context, f AgentFilter) ([]Agent, error)
}

// freeName returns a name for an agent to which nobody has given one: its persona's slug or its folder, and if an active agent has
// that name, the branch of its work tree, else the name with a number. If two agents are made in the same moment, both may get the same name.
func freeName(ctx context.Context, st agentLister, a *Agent, branch string) (string, error) {
	active, err := st.Agents(ctx, AgentFilter{Active: true, Limit: namesRead})
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for i := range active {
		taken[active[i].Name] = true
	}
	if name := plainName(branch, maxName); taken[a.Name] && branch != "" && !taken[name] && checkName(name) == nil {
		return name, nil
	}
	name := a.Name
	for n := 2; taken[name]; n++ {
		name = a.Name + "-" + strconv.Itoa(n)
	}
	return name, nil
}

// isNameOf reports whether freeName has made a name from a persona's slug, so that nobody has given it.
func isNameOf(name, slug string) bool {
	number, numbered := strings.CutPrefix(name, slug+"-")
	n, err := strconv.Atoi(number)
	return name == slug || numbered && err == nil && n > 1
}
