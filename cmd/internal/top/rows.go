package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// snapshot is what the source saw. It is not changed once it was sent.
type snapshot struct {
	at       time.Time
	agents   []daemon.Agent     // those that have not ended
	handoffs []daemon.Handoff   // the newest and all that are open, newest first
	needs    []daemon.Attention // the longest wait first
}

// kind is what a row is about.
type kind int

const (
	agentRow kind = iota
	handoffRow
	pipelineRow
)

// key is whom a row is about; it stays when the row moves.
type key struct {
	kind kind
	id   int64
}

// String names it for people.
func (k key) String() string {
	return fmt.Sprintf("%s %d", [...]string{"agent", "handoff", "pipeline"}[k.kind], k.id)
}

// group is where in the list a row stands.
type group int

const (
	needsYou group = iota
	atWork
	idle
	starting
)

// row is one line of the list.
type row struct {
	key
	group group
	since time.Time // in its state
	state string
	asks  string // why it needs a person, or what is going on

	need     *daemon.Attention // nil: it needs nobody
	agent    *daemon.Agent     // nil: it is not about one
	handoff  *daemon.Handoff   // the one that concerns the agent; nil: none does
	pipeline *daemon.Pipeline  // nil: it is not about one
}

// rowsOf makes the list: what needs a person first, the longest wait on top; the others by their ids, so
// that they stay where they are.
func rowsOf(s snapshot) []row {
	var rows []row
	needy := map[int64]bool{} // agents
	for i := range s.needs {
		r := needyRow(&s.needs[i])
		needy[r.id] = needy[r.id] || r.kind == agentRow
		rows = append(rows, r)
	}
	handoffs := (&daemon.Overview{At: s.at, Agents: s.agents, Handoffs: s.handoffs}).HandoffOf()
	needing := len(rows)
	for i := range s.agents {
		if a := &s.agents[i]; !needy[a.ID] {
			rows = append(rows, agentLine(a, handoffs[a.ID]))
		}
	}
	slices.SortFunc(rows[needing:], func(a, b row) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.id, b.id))
	})
	return rows
}

// needyRow is about what needs a person.
func needyRow(n *daemon.Attention) row {
	r := row{
		key: key{agentRow, n.ID}, group: needsYou, since: n.Since, state: words.Of(n.Kind), asks: n.Brief,
		need: n, agent: n.Agent, handoff: n.Handoff, pipeline: n.Pipeline,
	}
	switch n.About {
	case daemon.AboutHandoff:
		r.kind = handoffRow
	case daemon.AboutPipeline:
		r.kind = pipelineRow
	}
	return r
}

// agentLine is about an agent that needs nobody.
func agentLine(a *daemon.Agent, h *daemon.Handoff) row {
	r := row{key: key{agentRow, a.ID}, since: a.StateAt, state: string(a.State), agent: a, handoff: h}
	if h != nil {
		r.asks = h.Note
	}
	switch a.State {
	case daemon.Working, daemon.Waiting: // the dialog was answered just now
		r.group = atWork
	case daemon.Idle:
		r.group = idle
	default:
		r.group = starting
	}
	return r
}

// sign is the row at a glance.
func (r *row) sign() string {
	switch {
	case r.failed():
		return "✗"
	case r.group == needsYou:
		return "!"
	case r.group == atWork:
		return "●"
	case r.group == idle:
		return "○"
	}
	return "·"
}

// failed reports whether it needs a person because it has ended badly.
func (r *row) failed() bool {
	return r.need != nil && (r.need.Kind == daemon.NeedsRetry || r.need.Kind == daemon.NeedsHeir)
}

// decides reports whether it is about a step that waits for approval.
func (r *row) decides() bool { return r.need != nil && r.need.Kind == daemon.NeedsApproval }

// label is the id, with a letter before those that are not of agents.
func (r *row) label() string {
	return [...]string{"", "h", "p"}[r.kind] + fmt.Sprint(r.id)
}

func (r *row) name() string {
	switch r.kind {
	case agentRow:
		return r.agent.Name
	case handoffRow:
		return r.handoff.SourceAgent
	}
	return r.pipeline.Title
}

func (r *row) persona() string {
	switch r.kind {
	case agentRow:
		return r.agent.PersonaSlug()
	case handoffRow:
		return r.handoff.Persona
	}
	return r.pipeline.Template
}

// host is empty for a handoff, whose answer does not tell.
func (r *row) host() string {
	switch r.kind {
	case agentRow:
		return r.agent.Host
	case pipelineRow:
		return r.pipeline.Host
	}
	return ""
}

// matches reports whether each word of a filter is in one of what the list is filtered by.
func (r *row) matches(filter string) bool {
	in := strings.ToLower(strings.Join([]string{r.label(), r.name(), r.persona(), r.state, r.host()}, "\x00"))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}
