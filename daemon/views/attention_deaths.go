package views

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// deaths returns an Attention for each agent that has died lately and whose work nobody goes on with, except those in told.
// Agents that ended with the same tmux server share one.
func (o *Overview) deaths(told map[int64]bool) (out []Attention) {
	byCause := map[string][]*daemon.Agent{}
	var causes []string
	for i := range o.Ended {
		a := &o.Ended[i]
		if a.SuccessorID != nil || !a.LeavesWork() || told[a.ID] || o.At.Sub(*a.EndedAt) >= daemon.Recently {
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

// Died returns the ids of the agents that died, of which the Attention tells; nil: it is about something else.
func (n *Attention) Died() []int64 {
	switch {
	case n.Kind != NeedsHeir || n.About != AboutAgent:
		return nil
	case len(n.Together) > 0:
		return n.Together
	}
	return []int64{n.ID}
}

// deathOf makes the Attention of agents that died together.
func deathOf(agents []*daemon.Agent) Attention {
	slices.SortFunc(agents, func(a, b *daemon.Agent) int { return cmp.Compare(a.ID, b.ID) })
	first := agents[0]
	if len(agents) == 1 {
		n := attention(NeedsHeir, *first.EndedAt, "", "it died, which nobody asked for", againWords(first))
		n.About, n.ID, n.Agent, n.Resumable = AboutAgent, first.ID, first, resumableOf(agents)
		return n
	}
	const listed = 8
	since, resumable := *first.EndedAt, resumableOf(agents)
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
	}
	next := "start others with `understudy agent start`"
	if len(resumable) > 0 {
		next = "`understudy agent resume --all` opens their sessions again"
	}
	n := attention(NeedsHeir, since, "", fmt.Sprintf("%d agents ended with their tmux server: %s", len(agents), words.List(who, len(agents))), next)
	n.About, n.ID, n.Agent, n.Together, n.Resumable = AboutAgent, first.ID, first, ids, resumable
	return n
}

// resumableOf returns the ids of the ended agents whose sessions can be opened again, as far as is known.
func resumableOf(agents []*daemon.Agent) (ids []int64) {
	for _, a := range agents {
		if a.HasSession() {
			ids = append(ids, a.ID)
		}
	}
	return ids
}
