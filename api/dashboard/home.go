package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data/secrets"
)

const (
	maxAgents = daemon.MostAgents // active agents on one page
	maxEnded  = 8                 // ended agents on the first page
)

// home is the data of the first page: all active agents, those that need a person first.
type home struct {
	Needs     []card
	Pipelines []run // pipelines that need a person
	Groups    []group
	Runs      []run   // pipelines that have not ended
	Ended     []card  // the newest ended agents
	More      bool    // the page does not show all active agents
	Died      []int64 // the agents of this host that died, whose work nobody continues, and whose sessions can be opened again
	Used      string  // what all agents have used today; "": nothing was counted
}

// group is the agents in one state.
type group struct {
	Title string
	Cards []card
}

// Dense reports whether the group is so large that each of its cards is one row.
func (g *group) Dense() bool { return len(g.Cards) > 12 }

// card is an agent in a list.
type card struct {
	daemon.Agent
	Handoff *daemon.Handoff  // the agent's newest handoff, if that handoff is open or failed
	Need    *views.Attention // why the agent needs a person; nil: it needs none
	Dialog  *sight.Dialog    // what stands in its pane and can be answered here; nil: there is none, or its screen is not read here
	Hosts   bool             // the page shows agents of several hosts, so the card names the host
	Here    bool             // the agent is on this daemon's host, so this daemon can retry its handoff
	Died    []card           // the agents that died together with this one, which is the first of them; nil: it is about this one alone
	Home    string           // the home directory of this daemon's user, which is shown as ~
	Now     time.Time
}

// Resumable says whether a new agent can continue this agent's session.
func (c *card) Resumable() bool {
	return !c.Active() && c.SuccessorID == nil && c.HasSession() && c.Here
}

// IsUnread reports whether the agent has finished its turn since the operator looked at it last.
func (c *card) IsUnread() bool { return c.Unread && c.State == daemon.Idle }

// showDialog shows the card's dialog, if there is one among those that were read. The dialog says what there is to do.
func (c *card) showDialog(read map[int64]*sight.Dialog) {
	if c.Dialog = read[c.ID]; c.Dialog != nil && c.Need != nil {
		need := *c.Need
		need.Next, c.Need = "", &need
	}
}

// AnsweredBefore says what has become of an answer to the agent's dialog that did not help, or of one that is under way; "": there
// is none.
func (c *card) AnsweredBefore() string {
	in := c.DialogAnswer
	if in == nil || c.State != daemon.Waiting || in.State == daemon.DialogGone || in.State == daemon.DialogOther {
		return ""
	}
	return in.Words()
}

// Where says in which directory the agent works and on which branch, cut at its left to the width of a card.
func (c *card) Where() string {
	const most = 44
	return fit.Where(words.Where(secrets.Mask(words.Home(c.Cwd, c.Home)), c.Repository, c.Branch), most)
}

// run is a pipeline in a list.
type run struct {
	daemon.Pipeline
	Need *views.Attention // why the pipeline needs a person; nil: it needs none
	Now  time.Time
}

// Step returns the pipeline's running step, or the step that begins next. If all steps are done, it returns nil.
func (r *run) Step() *daemon.Step {
	if i := r.Front(); i < len(r.Steps) {
		return &r.Steps[i]
	}
	return nil
}

// Before returns the step before [run.Step], or nil if there is none. A person who approves, or chooses the way, judges the output
// of that step.
func (r *run) Before() *daemon.Step {
	if s := r.AwaitsWay(); s != nil {
		return s
	}
	if i := r.Front(); i > 0 && i <= len(r.Steps) {
		return &r.Steps[i-1]
	}
	return nil
}

// Home draws the first page.
func (p *Pages) Home(ctx context.Context) (*Page, error) {
	all, err := p.Daemon.Overview(ctx)
	if err != nil {
		return nil, err
	}
	out := &home{More: len(all.Agents) == daemon.MostAgents}
	page := p.page("home", "Agents", "agents", "all", out)
	if out.Used, err = p.used(ctx, daemon.UsageQuery{Since: p.Usage.Today()}); err != nil {
		return nil, err
	}
	needs := all.Attention()
	page.Needs = len(needs)
	needy := map[int64]bool{} // agents
	several := slices.ContainsFunc(all.Agents, func(a daemon.Agent) bool { return a.Host != p.Daemon.Host })
	deal := func(a *daemon.Agent, h *daemon.Handoff, need *views.Attention) card {
		return card{Agent: *a, Handoff: h, Need: need, Hosts: several, Here: a.Host == p.Daemon.Host, Home: p.home(), Now: page.Now}
	}
	for i := range needs {
		switch n := &needs[i]; {
		case n.Pipeline != nil:
			out.Pipelines = append(out.Pipelines, run{*n.Pipeline, n, page.Now})
		case n.Agent != nil:
			needy[n.Agent.ID] = true
			c := deal(n.Agent, n.Handoff, n)
			for i := range all.Ended {
				if a := &all.Ended[i]; slices.Contains(n.Together, a.ID) {
					needy[a.ID] = true
					c.Died = append(c.Died, deal(a, nil, nil))
				}
			}
			slices.SortFunc(c.Died, func(a, b card) int { return cmp.Compare(a.ID, b.ID) })
			out.Needs = append(out.Needs, c)
			if n.Kind == views.NeedsHeir {
				out.noteDied(&c)
			}
		default:
			page.Needs-- // the agent was deleted a moment ago
		}
	}
	p.addDialogs(ctx, out.Needs)
	handoffs := all.HandoffOf()
	groups := map[daemon.AgentState][]card{}
	const done daemon.AgentState = "finished" // and the operator has not looked at them since
	slices.SortStableFunc(all.Agents, func(a, b daemon.Agent) int { return a.StateAt.Compare(b.StateAt) })
	for i := range all.Agents {
		if a := &all.Agents[i]; !needy[a.ID] {
			c := deal(a, handoffs[a.ID], nil)
			state := a.State
			if c.IsUnread() {
				state = done
			}
			groups[state] = append(groups[state], c)
		}
	}
	for _, s := range []daemon.AgentState{done, daemon.Waiting, daemon.Working, daemon.Limited, daemon.Idle, daemon.Starting} {
		if list := groups[s]; len(list) > 0 {
			out.Groups = append(out.Groups, group{Title: string(s), Cards: list})
		}
	}
	for i := range all.Ended {
		if a := &all.Ended[i]; !needy[a.ID] && len(out.Ended) < maxEnded {
			out.Ended = append(out.Ended, deal(a, nil, nil))
		}
	}
	for _, pl := range all.Pipelines {
		if pl.Open() {
			out.Runs = append(out.Runs, run{Pipeline: pl, Now: page.Now})
		}
	}
	slices.SortStableFunc(out.Runs, func(a, b run) int { return cmp.Compare(waits(&b), waits(&a)) })
	return page, nil
}

// addDialogs reads the dialogs of the agents that wait, except those of permissions, which are answered as such.
func (p *Pages) addDialogs(ctx context.Context, needs []card) {
	var ask []*daemon.Agent
	for i := range needs {
		if len(needs[i].Need.Permissions) == 0 {
			ask = append(ask, &needs[i].Agent)
		}
	}
	read := p.Dialogs.Dialogs(ctx, ask)
	for i := range needs {
		needs[i].showDialog(read)
	}
}

// noteDied notes the agents of a card that died and can be resumed.
func (h *home) noteDied(c *card) {
	if len(c.Died) == 0 && c.Resumable() {
		h.Died = append(h.Died, c.ID)
	}
	for i := range c.Died {
		if c.Died[i].Resumable() {
			h.Died = append(h.Died, c.Died[i].ID)
		}
	}
}

// Dismissable returns the agents that died of which the card tells, so that one button dismisses them; nil: it tells of something
// else.
func (c *card) Dismissable() []int64 {
	if c.Need == nil {
		return nil
	}
	return c.Need.Died()
}

// DismissBody is the request that dismisses them.
func (c *card) DismissBody() string { return idsBody(c.Dismissable()) }

// idsBody is a request about agents.
func idsBody(ids []int64) string {
	b, _ := json.Marshal(map[string][]int64{"ids": ids}) // numbers cannot fail
	return string(b)
}

// ResumeBody is the request that opens the sessions of Died again.
func (h *home) ResumeBody() string { return idsBody(h.Died) }

// home returns the home directory of this daemon's user; "": it is not known.
func (p *Pages) home() string {
	for _, v := range p.Daemon.Environ {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// waits returns 1 for a pipeline that waits for approval, and 0 for all others.
func waits(r *run) int {
	if r.Status == daemon.PipelineWaiting {
		return 1
	}
	return 0
}
