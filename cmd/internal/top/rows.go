package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// snapshot is what the source saw. It is not changed once it was sent.
type snapshot struct {
	at        time.Time
	agents    []daemon.Agent    // those that have not ended
	handoffs  []daemon.Handoff  // the newest and all that are open, newest first
	pipelines []daemon.Pipeline // those that wait for approval
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
	asks  string // what it waits for, or what is wrong with it

	agent    *daemon.Agent    // nil: it is not about one that lives
	handoff  *daemon.Handoff  // the agent's that is open, or failed; nil: neither
	pipeline *daemon.Pipeline // nil: it is not about one
}

// lingers is how long a failed handoff whose agents have both ended is shown.
const lingers = 24 * time.Hour

// rowsOf makes the list: who needs a person first, the longest wait on top; the others by their ids, so
// that they stay where they are.
func rowsOf(s snapshot) []row {
	var rows []row
	about, orphans := concerns(s)
	for i := range s.agents {
		rows = append(rows, agentLine(&s.agents[i], about[s.agents[i].ID]))
	}
	for _, h := range orphans {
		rows = append(rows, row{
			key: key{handoffRow, h.ID}, group: needsYou, since: endOf(h), state: "failed", asks: failure(h), handoff: h,
		})
	}
	for i := range s.pipelines {
		rows = append(rows, pipelineLine(&s.pipelines[i]))
	}
	slices.SortFunc(rows, func(a, b row) int {
		if c := cmp.Compare(a.group, b.group); c != 0 {
			return c
		}
		if a.group == needsYou {
			if c := a.since.Compare(b.since); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	return rows
}

func agentLine(a *daemon.Agent, h *daemon.Handoff) row {
	r := row{key: key{agentRow, a.ID}, since: a.StateAt, state: string(a.State), asks: a.Note, agent: a, handoff: h}
	trouble := a.InTrouble()
	switch {
	case a.State == daemon.Waiting:
		r.group, r.asks = needsYou, cmp.Or(a.WaitsFor, a.Note)
	case trouble != nil:
		r.group, r.state, r.since, r.asks = needsYou, "trouble", trouble.Since, trouble.Words()
	case a.State == daemon.Working:
		r.group = atWork
	case a.State == daemon.Idle:
		r.group = idle
	default:
		r.group = starting
	}
	switch {
	case h == nil || a.State == daemon.Waiting || trouble != nil && h.Open():
	case h.Phase == daemon.Failed:
		r.group, r.asks, r.since, r.state = needsYou, failure(h), endOf(h), "failed"
	case h.Retryable():
		r.group, r.asks = needsYou, h.Note
	case h.Note != "":
		r.asks = h.Note
	}
	return r
}

func pipelineLine(p *daemon.Pipeline) row {
	asks := "approval"
	if i := p.Front(); i < len(p.Steps) {
		asks = fmt.Sprintf("approval of step %d of %d, %s", i+1, len(p.Steps), p.Steps[i].AgentName)
	}
	return row{key: key{pipelineRow, p.ID}, group: needsYou, since: p.UpdatedAt, state: "approval", asks: asks, pipeline: p}
}

// concerns finds for each agent the handoff that is to be shown with it: one that is open, and else the
// last one if it failed. Orphans are failed ones of which neither agent is there any more, so that
// the work lies still.
func concerns(s snapshot) (about map[int64]*daemon.Handoff, orphans []*daemon.Handoff) {
	active, followed := map[int64]bool{}, map[int64]bool{}
	for i := range s.agents {
		active[s.agents[i].ID] = true
		if p := s.agents[i].PreviousAgentID; p != nil {
			followed[*p] = true
		}
	}
	about = map[int64]*daemon.Handoff{}
	seen := map[int64]bool{} // agents that have a newer one
	for i := range s.handoffs {
		h := &s.handoffs[i]
		if seen[h.AgentID] {
			continue
		}
		seen[h.AgentID] = true
		if !h.Open() && h.Phase != daemon.Failed {
			continue
		}
		who := h.AgentID
		if h.SuccessorID != nil && active[*h.SuccessorID] {
			who = *h.SuccessorID
		}
		later := h.SuccessorID != nil && (seen[*h.SuccessorID] || followed[*h.SuccessorID])
		switch {
		case active[who]:
			if about[who] == nil {
				about[who] = h
			}
		case h.Phase == daemon.Failed && !followed[h.AgentID] && !later && s.at.Sub(endOf(h)) < lingers:
			orphans = append(orphans, h)
		}
	}
	return about, orphans
}

// endOf is when a handoff ended.
func endOf(h *daemon.Handoff) time.Time {
	if h.CompletedAt != nil {
		return *h.CompletedAt
	}
	return h.CreatedAt
}

// failure says why a handoff failed.
func failure(h *daemon.Handoff) string {
	if h.Error == nil {
		return "its handoff failed"
	}
	return strings.TrimSpace(h.Error.Message + " " + h.Error.Hint)
}

// sign is the row at a glance.
func (r *row) sign() string {
	switch {
	case r.state == "failed":
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
