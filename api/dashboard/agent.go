package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
)

const (
	ownHandoffs   = 20 // handoffs on an agent's page in which it is the outgoing agent, and as many in which it is the successor
	ownDeliveries = 10 // deliveries on an agent's page
	ownEvents     = 20 // events on an agent's page
)

// agent is the data of one agent's page.
type agent struct {
	card
	Arriving   *daemon.Handoff // the open handoff in which this agent is the successor, or nil
	Line       []generation
	own        []daemon.Handoff  // the handoffs in which it is the outgoing agent or the successor
	Handoffs   []handoffRow      // own, as rows
	Deliveries []daemon.Delivery // the newest, and all that are queued
	Queued     int               // how many of them the operator can cancel
	Events     []event.Event
	Tree       *tree  // the work tree of its line; nil: it has none
	Used       string // what it has used; "": nothing was counted
	TakesKeys  bool   // a page may type into its pane
	Timeline   *timeline
}

// Digits are the digits for which the page has buttons.
func (a *agent) Digits() []string { return strings.Split("1234567890", "") }

// Agent draws the page of one agent. Its timeline shows the last span of time.
func (p *Pages) Agent(ctx context.Context, id int64, span time.Duration) (*Page, error) {
	a, err := p.Daemon.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &agent{}
	page := p.page("agent", fmt.Sprintf("%s (agent %d)", a.Name, id), "agents", idWatch("agent", id), out)
	out.card = card{Agent: a, Hosts: true, Here: a.Host == p.Daemon.Host, Now: page.Now}
	out.TakesKeys = !p.Daemon.Settings().NoKeys
	if err := p.ownHandoffs(ctx, out); err != nil {
		return nil, err
	}
	if h := out.Arriving; h != nil { // the events of this handoff name the predecessor, not this agent
		page.Watch += " " + idWatch("handoff", h.ID)
	}
	if out.Used, err = p.used(ctx, daemon.UsageQuery{AgentIDs: []int64{id}}); err != nil {
		return nil, err
	}
	if out.Tree, err = p.treeOf(ctx, &a); err != nil {
		return nil, err
	}
	if out.Tree != nil {
		page.Watch += " worktree"
	}
	line, err := p.Daemon.Generations(ctx, &a, maxLine)
	if err != nil {
		return nil, err
	}
	out.Line = generations(line, id, page.Now)
	lived, err := p.Pictures.LineTimeline(ctx, &a, line, span)
	if err != nil {
		return nil, err
	}
	out.Timeline = pictureOf(lived, fmt.Sprintf("/ui/agents/%d", id), span)
	kin := make([]daemon.Agent, len(line))
	for i := range line {
		kin[i] = *line[i].Agent
	}
	asked, err := p.Permissions.List(ctx, daemon.PermissionFilter{AgentID: id, Open: true})
	if err != nil {
		return nil, err
	}
	for _, n := range p.needs(&views.Overview{At: page.Now, Handoffs: out.own, Permissions: asked}, kin...) {
		if n.Agent != nil && n.Agent.ID == id {
			out.Need, page.Needs = &n, 1
		}
	}
	if len(asked) == 0 {
		out.showDialog(p.Dialogs.Dialogs(ctx, []*daemon.Agent{&out.Agent}))
	}
	if err := p.ownDeliveries(ctx, out); err != nil {
		return nil, err
	}
	if out.Events, err = p.Daemon.Audit(ctx, daemon.AuditFilter{AgentID: id, Limit: ownEvents}); err != nil {
		return nil, err
	}
	return page, nil
}

// ownDeliveries fills in the deliveries of an agent: the newest, and those that are queued, however old they are.
func (p *Pages) ownDeliveries(ctx context.Context, a *agent) error {
	all, err := p.Daemon.Deliveries(ctx, a.ID, 0, 500)
	if err != nil {
		return err
	}
	for i := range all {
		if can := deliveries.CheckCancel(&a.Agent, &all[i]) == nil; can || i < ownDeliveries {
			a.Deliveries = append(a.Deliveries, all[i])
			if can {
				a.Queued++
			}
		}
	}
	return nil
}

// needs adds agents to an overview, and returns the agents, handoffs and pipelines of the overview that need a person.
func (p *Pages) needs(o *views.Overview, agents ...daemon.Agent) []views.Attention {
	o.Auto = p.Daemon.HandsOver()
	for _, a := range agents {
		if a.Active() {
			o.Agents = append(o.Agents, a)
		} else {
			o.Ended = append(o.Ended, a)
		}
	}
	return o.Attention()
}

// ownHandoffs reads the handoffs in which a is the outgoing agent or the successor.
func (p *Pages) ownHandoffs(ctx context.Context, a *agent) error {
	out, err := p.Daemon.Handoffs(ctx, daemon.HandoffFilter{AgentID: a.ID, Limit: ownHandoffs})
	if err != nil {
		return err
	}
	if len(out) > 0 && (out[0].Open() || out[0].Phase == daemon.Failed) {
		a.Handoff = &out[0]
	}
	arrived, err := p.Daemon.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: a.ID, Limit: ownHandoffs})
	if err != nil {
		return err
	}
	if len(arrived) > 0 && arrived[0].Open() {
		a.Arriving = &arrived[0]
	}
	a.own = slices.Concat(out, arrived)
	a.Handoffs = handoffRows(a.own, a.Now)
	return nil
}
