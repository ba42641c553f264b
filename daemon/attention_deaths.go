package daemon

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon/words"
)

// deaths returns an Attention for each agent that has died lately and whose work nobody goes on with, except those in told.
// Agents that ended with the same tmux server share one.
func (o *Overview) deaths(told map[int64]bool) (out []Attention) {
	byCause := map[string][]*Agent{}
	var causes []string
	for i := range o.Ended {
		a := &o.Ended[i]
		if a.SuccessorID != nil || !a.leavesWork() || told[a.ID] || o.At.Sub(*a.EndedAt) >= recent {
			continue
		}
		cause := cmp.Or(a.EndCause, fmt.Sprintf("agent %d", a.ID))
		if byCause[cause] == nil {
			causes = append(causes, cause)
		}
		byCause[cause] = append(byCause[cause], a)
	}
	for _, cause := range causes {
		out = append(out, deathOf(byCause[cause]))
	}
	return out
}

// deathOf makes the Attention of agents that died together.
func deathOf(agents []*Agent) Attention {
	slices.SortFunc(agents, func(a, b *Agent) int { return cmp.Compare(a.ID, b.ID) })
	first := agents[0]
	if len(agents) == 1 {
		n := attention(NeedsHeir, *first.EndedAt, "", "it died, which nobody asked for", first.againWords())
		n.About, n.ID, n.Agent = AboutAgent, first.ID, first
		return n
	}
	const listed = 8
	since, sessions := *first.EndedAt, 0
	var who []string
	var ids []int64
	for _, a := range agents {
		ids = append(ids, a.ID)
		if len(who) < listed {
			who = append(who, fmt.Sprintf("%d (%s)", a.ID, a.Name))
		}
		if a.EndedAt.Before(since) {
			since = *a.EndedAt
		}
		if a.HasSession() {
			sessions++
		}
	}
	next := "start others with `understudy agent start`"
	if sessions > 0 {
		next = "`understudy agent resume --all` opens their sessions again"
	}
	n := attention(NeedsHeir, since, "", fmt.Sprintf("%d agents ended with their tmux server: %s", len(agents), words.List(who, len(agents))), next)
	n.About, n.ID, n.Agent, n.Together = AboutAgent, first.ID, first, ids
	return n
}
