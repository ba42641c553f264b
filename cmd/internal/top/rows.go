package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// snapshot is the data that the source has read from the daemon. After a snapshot has been sent, nobody changes it.
type snapshot struct {
	at       time.Time
	agents   []daemon.Agent    // all agents that have not ended
	handoffs []daemon.Handoff  // the newest handoffs and all open ones, newest first
	needs    []views.Attention // the longest wait first; agents that died last
	usage    usage
}

// usage is what agents have used today.
type usage struct {
	agents map[int64]views.UsageRow
	total  views.UsageRow
}

// usedWords says what was used, in a few characters; "": nothing. unit is written behind the tokens.
func usedWords(u views.UsageRow, unit string) string {
	switch {
	case u.Total == 0 && u.CostUSD == nil:
		return ""
	case u.CostUSD == nil:
		return words.Tokens(u.Total) + unit
	}
	return fmt.Sprintf("%s%s $%.2f", words.Tokens(u.Total), unit, *u.CostUSD)
}

// kind says whether a row stands for an agent, a handoff or a pipeline.
type kind int

const (
	agentRow kind = iota
	handoffRow
	pipelineRow
)

// key identifies a row by the object that the row shows. When the row moves, its key does not change.
type key struct {
	kind kind
	id   int64
}

// String names the row for people.
func (k key) String() string {
	return fmt.Sprintf("%s %d", [...]string{"agent", "handoff", "pipeline"}[k.kind], k.id)
}

// group is a part of the list.
type group int

const (
	needsYou group = iota
	finished       // since the operator looked last
	atWork
	idle
	starting
)

// row is one line of the list.
type row struct {
	key
	group group
	since time.Time // when the state began
	state string
	asks  string // why the row needs a person, or the present activity of its agent

	need     *views.Attention // nil if the row needs no person
	agent    *daemon.Agent    // nil unless the row is about an agent
	handoff  *daemon.Handoff  // the handoff that the row shows with its agent; nil if there is none
	pipeline *daemon.Pipeline // nil unless the row is about a pipeline
}

// rowsOf makes the list. First come the rows that need a person, in the daemon's order. The other rows follow in
// the order of their ids, so that they keep their places.
func rowsOf(s snapshot) []row {
	var rows []row
	needy := map[int64]bool{} // the ids of agents
	for i := range s.needs {
		r := needyRow(&s.needs[i])
		needy[r.id] = needy[r.id] || r.kind == agentRow
		rows = append(rows, r)
	}
	handoffs := (&views.Overview{At: s.at, Agents: s.agents, Handoffs: s.handoffs}).HandoffOf()
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

// needyRow makes the row for an object that needs a person.
func needyRow(n *views.Attention) row {
	r := row{
		key: key{agentRow, n.ID}, group: needsYou, since: n.Since, state: words.Of(n.Kind), asks: n.Brief,
		need: n, agent: n.Agent, handoff: n.Handoff, pipeline: n.Pipeline,
	}
	switch n.About {
	case views.AboutHandoff:
		r.kind = handoffRow
	case views.AboutPipeline:
		r.kind = pipelineRow
	}
	return r
}

// agentLine makes the row for an agent that needs no person.
func agentLine(a *daemon.Agent, h *daemon.Handoff) row {
	r := row{key: key{agentRow, a.ID}, since: a.StateAt, state: string(a.State), agent: a, handoff: h}
	if h != nil {
		r.asks = h.Note
	}
	if does := views.LimitWords(a); does != "" && r.asks == "" {
		r.asks = does
		if a.LimitedUntil != nil {
			r.asks = "until " + a.LimitedUntil.Local().Format("Jan 2 15:04") + ": " + does
		}
	}
	switch a.State {
	case daemon.Idle:
		r.group = idle
		if a.Unread {
			r.group, r.state = finished, "finished"
		}
	case daemon.Working, daemon.Waiting: // Waiting without need: the dialog has just been answered
		r.group = atWork
	case daemon.Limited:
		r.group = idle
	default:
		r.group = starting
	}
	return r
}

// sign returns the character that shows the row's state.
func (r *row) sign() string {
	switch {
	case r.failed():
		return "✗"
	case r.group == needsYou:
		return "!"
	case r.group == finished:
		return "◆"
	case r.group == atWork:
		return "●"
	case r.group == idle:
		return "○"
	}
	return "·"
}

// failed reports whether the row is about a handoff or a pipeline that failed, or about an agent that died.
func (r *row) failed() bool {
	return r.need != nil && (r.need.Kind == views.NeedsRetry || r.need.Kind == views.NeedsHeir)
}

// died returns the agents of a row that died; nil: the row is about something else.
func (r *row) died() []int64 {
	if r.need == nil {
		return nil
	}
	return r.need.Died()
}

// dead returns those of them whose sessions can be opened again; nil: there is none.
func (r *row) dead() []int64 {
	if r.died() == nil {
		return nil
	}
	return r.need.Resumable
}

// flagged reports whether the row needs a person or has finished since the operator looked last.
func (r *row) flagged() bool { return r.group == needsYou || r.group == finished }

// decides reports whether the row is about a step that waits for approval.
func (r *row) decides() bool { return r.need != nil && r.need.Kind == views.NeedsApproval }

// asked returns what the row's agent asks for and can be answered here; nil: nothing.
func (r *row) asked() *daemon.Permission {
	if r.need == nil || len(r.need.Permissions) == 0 {
		return nil
	}
	return &r.need.Permissions[0]
}

// label returns the row's id. A letter before the id marks handoffs and pipelines.
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

// host returns the row's host. It returns "" for a handoff, because the API does not report the host.
func (r *row) host() string {
	switch r.kind {
	case agentRow:
		return r.agent.Host
	case pipelineRow:
		return r.pipeline.Host
	}
	return ""
}

// where says in which directory the row's agent works, and on which branch.
func (r *row) where(home string) string {
	if r.agent == nil {
		return ""
	}
	return words.Where(words.Home(r.agent.Cwd, home), r.agent.Repository, r.agent.Branch)
}

// last says what the row's agent was asked last while it works, and else what it said last.
func (r *row) last() string {
	switch {
	case r.agent == nil:
		return ""
	case r.agent.State == daemon.Working && r.agent.Asked != "":
		return "asked: " + r.agent.Asked
	case r.agent.LastMessage != "":
		return "said: " + r.agent.LastMessage
	}
	return ""
}

// matches reports whether the row matches a filter: each word of the filter is in one of the row's texts.
func (r *row) matches(filter string) bool {
	in := strings.ToLower(strings.Join([]string{r.label(), r.name(), r.persona(), r.state, r.host(), r.where("")}, "\x00"))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}
