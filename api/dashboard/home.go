package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

const (
	maxAgents = 500            // on one page
	maxEnded  = 8              // of those that have ended
	recent    = 24 * time.Hour // how long what has ended badly needs somebody
)

// home is the first page: all agents that have not ended, those that need somebody first.
type home struct {
	Needs  []card
	Failed []run // lately, and nobody meant them to
	Groups []group
	Runs   []run  // that have not ended
	Ended  []card // the newest
	More   bool   // there are more agents than are shown
}

// group is agents of one state.
type group struct {
	Title string
	Cards []card
}

// card is an agent at a glance.
type card struct {
	daemon.Agent
	Handoff *daemon.Handoff // open, or failed and not followed by another one
	Why     string          // it needs somebody; "": it does not
	Hosts   bool            // there are several, so its host is shown
	Here    bool            // it is this daemon's, which can retry its handoff
	Now     time.Time
}

// run is a run of a pipeline at a glance.
type run struct {
	daemon.Pipeline
	Now time.Time
}

// Step is the one that the run is at; nil: all are done.
func (r *run) Step() *daemon.Step {
	if i := r.Front(); i < len(r.Steps) {
		return &r.Steps[i]
	}
	return nil
}

// Before is the step whose output is judged by an approval; nil: there is none.
func (r *run) Before() *daemon.Step {
	if i := r.Front(); i > 0 && i <= len(r.Steps) {
		return &r.Steps[i-1]
	}
	return nil
}

// Home draws the first page.
func (p *Pages) Home(ctx context.Context) (*Page, error) {
	out := &home{}
	page := p.page("home", "Agents", "agents", "all", out)
	agents, err := p.Daemon.Agents(ctx, daemon.AgentFilter{Active: true, Limit: maxAgents})
	if err != nil {
		return nil, err
	}
	ended, err := p.Daemon.Agents(ctx, daemon.AgentFilter{Lately: true, Limit: 100})
	if err != nil {
		return nil, err
	}
	handoffs, err := p.unsettled(ctx, page.Now)
	if err != nil {
		return nil, err
	}
	pipelines, err := p.Daemon.Pipelines(ctx, daemon.PipelineFilter{Open: true})
	if err != nil {
		return nil, err
	}
	out.More = len(agents) == maxAgents
	out.deal(p.cards(agents, handoffs, page.Now))
	for _, c := range p.cards(ended, handoffs, page.Now) {
		if c.Why != "" {
			out.Needs = append(out.Needs, c)
		} else if len(out.Ended) < maxEnded {
			out.Ended = append(out.Ended, c)
		}
	}
	for _, pl := range pipelines {
		out.Runs = append(out.Runs, run{pl, page.Now})
	}
	slices.SortStableFunc(out.Runs, func(a, b run) int { return cmp.Compare(waits(&b), waits(&a)) })
	if out.Failed, err = p.failed(ctx, page.Now); err != nil {
		return nil, err
	}
	page.Needs = len(out.Needs) + len(out.Failed)
	for i := range out.Runs {
		page.Needs += waits(&out.Runs[i])
	}
	return page, nil
}

// failed returns the runs that have failed lately without a person's wanting it.
func (p *Pages) failed(ctx context.Context, now time.Time) (out []run, err error) {
	list, err := p.Daemon.Pipelines(ctx, daemon.PipelineFilter{Status: daemon.PipelineFailed, Limit: 20})
	for _, pl := range list {
		meant := pl.ErrorCode == "aborted" || pl.ErrorCode == "rejected"
		if !meant && pl.FinishedAt != nil && now.Sub(*pl.FinishedAt) < recent {
			out = append(out, run{pl, now})
		}
	}
	return out, err
}

// waits is 1 for a run that waits for a person.
func waits(r *run) int {
	if r.Status == daemon.PipelineWaiting {
		return 1
	}
	return 0
}

// unsettled returns the handoffs by their agents that are open, or that have failed lately and are the
// agent's last: what came of a later one counts.
func (p *Pages) unsettled(ctx context.Context, now time.Time) (map[int64]*daemon.Handoff, error) {
	out := map[int64]*daemon.Handoff{}
	for _, f := range []daemon.HandoffFilter{{Status: daemon.StatusFailed, Last: true, Limit: 50}, {Open: true, Limit: maxAgents}} {
		list, err := p.Daemon.Handoffs(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range list {
			h := &list[i]
			if old := out[h.AgentID]; (old == nil || old.ID < h.ID) && (h.Open() || now.Sub(*h.CompletedAt) < recent) {
				out[h.AgentID] = h
			}
		}
	}
	return out, nil
}

func (p *Pages) cards(agents []daemon.Agent, handoffs map[int64]*daemon.Handoff, now time.Time) []card {
	several := slices.ContainsFunc(agents, func(a daemon.Agent) bool { return a.Host != p.Daemon.Host })
	var out []card
	for _, a := range agents {
		c := card{Agent: a, Handoff: handoffs[a.ID], Hosts: several, Here: a.Host == p.Daemon.Host, Now: now}
		c.Why = c.why(p.Daemon.Settings.Handoff.Auto.Enabled)
		out = append(out, c)
	}
	return out
}

// why says in a line what somebody is needed for.
func (c *card) why(auto bool) string {
	h := c.Handoff
	switch {
	case h != nil && h.Phase == daemon.Failed && (c.Active() || h.RecordedAt != nil && c.SuccessorID == nil):
		return fmt.Sprintf("its handoff failed: %s", h.Error.Message)
	case !c.Active() && c.SuccessorID == nil && c.PipelineID == nil && c.Died() && c.Now.Sub(*c.EndedAt) < recent:
		return "it died, which nobody asked for"
	case !c.Active():
		return ""
	case h != nil && h.Retryable():
		return h.Note
	case c.State == daemon.Waiting && c.WaitsFor != "":
		return "it asks for " + c.WaitsFor
	case c.State == daemon.Waiting:
		return "a dialog waits for an answer"
	case c.InTrouble() != nil:
		return "its turns fail: " + c.Trouble.Words()
	case c.Note != "":
		return c.Note
	case h == nil && !auto && c.Context != nil && c.Context.Tier == daemon.TierHigh && c.Persona != nil:
		return "its context is nearly full: hand it over"
	}
	return ""
}

// deal puts the cards where they belong: those that need somebody first, the others by state, each the
// one first that has been in it longest.
func (h *home) deal(cards []card) {
	slices.SortStableFunc(cards, func(a, b card) int { return a.StateAt.Compare(b.StateAt) })
	groups := map[daemon.AgentState][]card{}
	for _, c := range cards {
		if c.Why != "" {
			h.Needs = append(h.Needs, c)
			continue
		}
		groups[c.State] = append(groups[c.State], c)
	}
	for _, s := range []daemon.AgentState{daemon.Waiting, daemon.Working, daemon.Idle, daemon.Starting} {
		if list := groups[s]; len(list) > 0 {
			h.Groups = append(h.Groups, group{Title: string(s), Cards: list})
		}
	}
}
