package dashboard

import (
	"context"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/personas"
)

const pageOfRuns = 50

// pipelines is the data of the list of pipelines and templates.
type pipelines struct {
	Runs      []run
	Status    string
	Statuses  []daemon.PipelineStatus
	Before    int64 // the next page has the ids below Before; 0: there is no next page
	Templates []personas.Template
}

// pipeline is the data of one pipeline's page.
type pipeline struct {
	run
	Used   string                  // what its agents have used; "": nothing was counted
	Agents map[int64]*daemon.Agent // the agents that worked on its steps, by id
}

// At says whether s is the pipeline's running step, or the step that begins next.
func (p *pipeline) At(s daemon.Step) bool { return s.OrderIndex == p.Front() }

// Edge says which rule of which step led to s; "": none did.
func (p *pipeline) Edge(s daemon.Step) string { return views.EdgeWords(&p.run.Pipeline, &s) }

// Rules says where the rules of s lead; "": it has none, or has ended.
func (p *pipeline) Rules(s daemon.Step) string {
	if s.FinishedAt != nil {
		return ""
	}
	return views.RuleWords(&p.run.Pipeline, &s)
}

// undecided is why a person must choose which step comes after another, and what that step has written.
type undecided struct{ Why, Written string }

// Undecided returns why a person must choose which step comes after s; nil: nobody must.
func (p *pipeline) Undecided(s daemon.Step) *undecided {
	if way := p.AwaitsWay(); way == nil || way.ID != s.ID {
		return nil
	}
	return &undecided{views.UndecidedWords(&p.run.Pipeline, &s), views.Written(&s)}
}

// Failed says whether the pipeline has failed, so that it can be resumed.
func (p *pipeline) Failed() bool { return p.Status == daemon.PipelineFailed }

// Waits says whether the pipeline waits for approval.
func (p *pipeline) Waits() bool { return p.Status == daemon.PipelineWaiting }

// Pipelines draws a page of the list of the pipelines that match f.
func (p *Pages) Pipelines(ctx context.Context, f daemon.PipelineFilter) (*Page, error) {
	f.Limit = pageOfRuns
	out := &pipelines{Status: string(f.Status), Templates: p.Templates.List(), Statuses: []daemon.PipelineStatus{
		daemon.PipelineRunning, daemon.PipelineWaiting, daemon.PipelinePending, daemon.PipelineFailed, daemon.PipelineDone,
	}}
	page := p.page("pipelines", "Pipelines", "pipelines", "pipeline step", out)
	list, err := p.House.Pipelines.Pipelines(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, pl := range list {
		out.Runs = append(out.Runs, run{Pipeline: pl, Now: page.Now})
	}
	if len(list) == pageOfRuns {
		out.Before = list[len(list)-1].ID
	}
	return page, nil
}

// Pipeline draws the page of one pipeline.
func (p *Pages) Pipeline(ctx context.Context, id int64) (*Page, error) {
	pl, err := p.House.Pipelines.Pipeline(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &pipeline{Agents: map[int64]*daemon.Agent{}}
	page := p.page("pipeline", pl.Title, "pipelines", idWatch("pipeline", id), out)
	out.run = run{Pipeline: pl, Now: page.Now}
	if out.Used, err = p.used(ctx, daemon.UsageQuery{PipelineID: id}); err != nil {
		return nil, err
	}
	for _, s := range pl.Steps {
		for _, id := range s.AgentIDs {
			a, err := p.Daemon.Agent(ctx, id)
			if err != nil {
				return nil, err
			}
			out.Agents[id] = &a
		}
	}
	page.Needs = len(p.needs(&views.Overview{At: page.Now, Pipelines: []daemon.Pipeline{pl}}))
	return page, nil
}
