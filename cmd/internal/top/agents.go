package top

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// pressAgents handles the keys that start agents, talk to them, and end them.
func (m *model) pressAgents(r *row, name string) tea.Cmd {
	switch name {
	case "N":
		return m.newAgent(r)
	case "r":
		return m.resume(r)
	case "R":
		return m.resumeAll(m.died())
	case "D":
		if r.died() == nil {
			return m.refuse("D dismisses agents that died: select one that needs you")
		}
		return m.do(action{verb: dismissAgents, ids: r.died()}, nil)
	case "m", "s", "e":
		switch {
		case r.kind != agentRow:
			return m.refuse(name + " is about an agent: select one")
		case !r.agent.Active():
			return m.refuse(endedWords(r))
		case name == "m" && !r.agent.HasPane() && r.agent.State != daemon.Starting:
			return m.refuse(fmt.Sprintf("agent %d has no tmux pane to type into", r.id))
		}
		m.form = map[string]func() *form{
			"m": func() *form { return messageForm(r, m.drafts[r.id]) },
			"s": func() *form { return stopForm(r) },
			"e": func() *form { return renameForm(r) },
		}[name]()
	}
	return nil
}

// keepDraft keeps the text of a message that the operator leaves, until they write to the same agent again.
func (m *model) keepDraft(f *form) {
	if f.action.verb == sendMessage && !f.busy {
		m.drafts[f.action.agent] = f.fields[0].value()
	}
}

// offerMsg has the options of a form's choice.
type offerMsg struct {
	form    *form
	field   int
	options []option
	err     error
}

// offer reads the options of a form's choice while the form is open.
func (m *model) offer(f *form, field int, read func(context.Context, *api.Client) ([]option, error)) tea.Cmd {
	return m.ask(patience, func(ctx context.Context, c *api.Client) tea.Msg {
		options, err := read(ctx, c)
		return offerMsg{f, field, options, slow(ctx, err)}
	})
}

func (m *model) offered(msg offerMsg) {
	c := msg.form.fields[msg.field].list
	if msg.err != nil {
		c.reading, msg.form.wrong = false, m.cfg.Explain(msg.err)
		return
	}
	if c.offer(msg.options); len(msg.options) == 0 {
		msg.form.wrong = "there is none"
	}
}

// newAgent asks for a new agent. It proposes one like the selected one, in the same directory.
func (m *model) newAgent(r *row) tea.Cmd {
	in := agents.NewAgent{Cwd: m.cfg.Directory}
	if r != nil && r.agent != nil {
		in.Persona, in.Cwd = r.agent.PersonaSlug(), r.agent.Cwd
	}
	in.Columns, in.Rows = daemon.PaneSize(m.w, m.h)
	f := startForm(in)
	m.form = f
	return tea.Batch(m.offer(f, personaField, func(ctx context.Context, c *api.Client) ([]option, error) {
		list, err := c.Personas(ctx, false)
		var all []option
		for i := range list {
			if p := &list[i]; p.Problem == nil {
				all = append(all, option{value: p.Slug, about: p.Description})
			}
		}
		return append(all, option{name: "none"}), err
	}), m.offer(f, runtimeField, func(ctx context.Context, c *api.Client) ([]option, error) {
		list, err := c.Runtimes(ctx)
		all := []option{{name: "the persona's"}}
		for i := range list {
			if len(list[i].Command) > 0 {
				all = append(all, option{value: list[i].Name, about: list[i].Problem})
			}
		}
		return all, err
	}))
}

// died returns all agents that died and whose sessions may be opened again.
func (m *board) died() (ids []int64) {
	rows := rowsOf(m.data)
	for i := range rows {
		ids = append(ids, rows[i].dead()...)
	}
	return ids
}

// resume opens the session of the selected row's agents again, if they died, or that of the agent that was selected when it
// ended. Otherwise it offers those that have ended.
func (m *model) resume(r *row) tea.Cmd {
	switch {
	case r != nil && len(r.dead()) > 1:
		return m.resumeAll(r.dead())
	case r != nil && r.died() != nil && r.dead() == nil:
		return m.refuse(r.String() + ": no session can be opened again; D dismisses it")
	case r != nil && r.dead() != nil:
		return m.do(action{verb: resumeAgents, ids: r.dead()}, nil)
	case r == nil && m.gone != nil && m.endedAlone(*m.gone):
		return m.do(action{verb: resumeAgents, ids: []int64{m.gone.id}}, nil)
	}
	f, home := endedForm(), m.cfg.Home
	m.form = f
	return m.offer(f, 0, func(ctx context.Context, c *api.Client) ([]option, error) {
		list, err := c.Agents(ctx, api.ListOptions{State: string(daemon.Ended), Limit: page})
		list = slices.DeleteFunc(list, func(a daemon.Agent) bool {
			return a.EndedAt == nil || a.SessionID == nil || a.RegisteredAt == nil || a.SuccessorID != nil
		})
		slices.SortStableFunc(list, func(a, b daemon.Agent) int { return cmp.Compare(b.EndedAt.UnixNano(), a.EndedAt.UnixNano()) })
		all := make([]option, len(list))
		for i := range list {
			a := &list[i]
			all[i] = option{
				value: fmt.Sprint(a.ID), name: fmt.Sprintf("%d %s", a.ID, a.Name),
				about: "ended " + words.Ago(*a.EndedAt) + ", " + words.Where(words.Home(a.Cwd, home), a.Repository, a.Branch),
			}
		}
		return all, err
	})
}

// endedAlone reports whether a row that disappeared was an agent that has ended and whose work no agent continues.
func (m *board) endedAlone(k key) bool {
	return k.kind == agentRow && !slices.ContainsFunc(m.data.agents, func(a daemon.Agent) bool {
		return a.ID == k.id || a.PreviousAgentID != nil && *a.PreviousAgentID == k.id
	})
}

func (m *model) resumeAll(ids []int64) tea.Cmd {
	if len(ids) == 0 {
		return m.refuse("no agent has died whose work nobody continues; r opens the session of one that has ended")
	}
	m.form = resumeForm(ids)
	return nil
}

// maxSent is how many texts without a verdict the program follows; older ones are forgotten.
const maxSent = 20

// sentMsg holds what became of texts.
type sentMsg []daemon.Delivery

// follow notes a text whose verdict the operator is told later.
func (m *model) follow(d *daemon.Delivery) {
	if d == nil {
		return
	}
	m.sent = append(m.sent, *d)
	m.sent = m.sent[max(0, len(m.sent)-maxSent):]
	if said := m.queuedWords(d); said != "" {
		m.said += ": " + said
	}
}

func (m *board) queuedWords(d *daemon.Delivery) string {
	for i := range m.data.agents {
		if m.data.agents[i].ID == d.AgentID {
			return views.QueuedWords(d, &m.data.agents[i])
		}
	}
	return ""
}

// readSent reads what has become of the texts that have no verdict.
func (m *model) readSent() tea.Cmd {
	if len(m.sent) == 0 || m.readingSent {
		return nil
	}
	m.readingSent = true
	sent := slices.Clone(m.sent)
	return m.ask(patience, func(ctx context.Context, c *api.Client) tea.Msg {
		var got sentMsg
		for i := range sent {
			list, err := c.Messages(ctx, sent[i].AgentID, api.ListOptions{Before: sent[i].ID + 1, Limit: 1})
			if err == nil && len(list) == 1 && list[0].ID == sent[i].ID {
				got = append(got, list[0])
			}
		}
		return got
	})
}

// tookSent tells the operator what became of their texts.
func (m *model) tookSent(got sentMsg) {
	m.readingSent = false
	for i := range got {
		d := &got[i]
		if d.Open() {
			continue
		}
		m.sent = slices.DeleteFunc(m.sent, func(s daemon.Delivery) bool { return s.ID == d.ID })
		if d.Verdict != nil && *d.Verdict == daemon.Submitted {
			m.say(fmt.Sprintf("agent %d has taken the text", d.AgentID), false)
			continue
		}
		m.say(fmt.Sprintf("agent %d has not taken the text, as far as is known (%s): look at it with a", d.AgentID, cmp.Or(d.Evidence, "no reason")), true)
	}
}
