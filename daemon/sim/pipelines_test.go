package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/house"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// templates are the templates of the pipelines, by name.
var templates = map[string]string{
	"one":   "steps:\n- agent: developer-kim-2\n",
	"two":   "steps:\n- agent: developer\n  timeout: 100\n- agent: developer-ada-3\n  approval: true\n  remind_after: 40\n",
	"three": "steps:\n- agent: developer-con-1\n  approval: true\n- agent: developer-kim-2\n  prompt: Look at it from the other side.\n- agent: developer-ada-3\n",
	"four":  "steps:\n- agent: developer-con-1\n- agent: developer-kim-2\n  timeout: 40\n- agent: developer-ada-3\n- agent: developer\n  approval: true\n",
}

// templateNames are the names in a fixed order, so that a seed draws the same one each time.
var templateNames = append([]string{"one", "two", "three", "four"}, routed...)

func writeTemplates(folder string, drawn map[string]string) error {
	for _, all := range []map[string]string{templates, drawn} {
		for name, steps := range all {
			if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte("name: "+name+"\n"+steps), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// pipelines returns the stored pipelines.
func (w *world) pipelines() []daemon.Pipeline {
	list := must(w.lent.Pipelines(ctx(), daemon.PipelineFilter{Limit: 1000}))
	return list
}

// direct has the person create pipelines on a host, and look after them as long as things go wrong.
func (p *person) direct(h *host) {
	var mine []int64
	for n := 1 + p.w.rng.IntN(3); n > 0; n-- {
		p.wait("thinks of a pipeline", 0, 15*time.Second)
		if id := p.createPipeline(h); id != 0 {
			mine = append(mine, id)
		}
	}
	for p.faulty() {
		p.wait("looks at the pipelines", time.Second, 12*time.Second)
		open := false
		for _, pl := range p.w.pipelines() {
			if slices.Contains(mine, pl.ID) {
				p.react(&pl)
				open = open || pl.Status != daemon.PipelineDone
			}
		}
		if !open {
			return
		}
	}
}

// createPipeline creates a pipeline and returns its id, 0 if the daemon refused it.
func (p *person) createPipeline(h *host) (id int64) {
	in := pipelines.NewPipeline{Template: templateNames[p.w.rng.IntN(len(templateNames))], Prompt: p.newText(), Cwd: h.cwd}
	in.Title = fmt.Sprintf("Pipeline %d of %s", p.texts, p.name)
	if p.w.rng.IntN(4) == 0 {
		in.Branch = fmt.Sprintf("branch-%d", p.w.rng.IntN(3))
	}
	// If the answer is lost, the daemon has created the pipeline all the same.
	_ = p.ask(h, "create a pipeline of "+in.Template, func(ctx context.Context, d *house.House) error {
		created, err := d.Pipelines.CreatePipeline(ctx, in)
		id = created.ID
		return err
	})
	p.w.plan.count("pipelines")
	return id
}

// react has the person look at a pipeline and act on it.
func (p *person) react(pl *daemon.Pipeline) {
	n := p.w.rng.IntN(100)
	switch {
	case pl.Status == daemon.PipelineWaiting && n < 60:
		p.approve(pl, p.anyHost())
	case pl.Status == daemon.PipelineWaiting && n < 75:
		p.command("reject", pl, p.anyHost(), func(ctx context.Context, d *house.House) error {
			return errorOf(d.Pipelines.RejectPipeline(ctx, pl.ID, pipelines.Decision{Comment: "not so"}))
		})
	case pl.Open() && n < 84 && n >= 80:
		p.command("abort", pl, p.anyHost(), func(ctx context.Context, d *house.House) error { return errorOf(d.Pipelines.AbortPipeline(ctx, pl.ID)) })
	case pl.Status == daemon.PipelineFailed && n < 50:
		p.resume(pl, n < 15)
	case pl.CurrentAgentID == nil:
	case n < 8:
		p.send(*pl.CurrentAgentID)
	case n < 16:
		_ = p.ask(p.anyHost(), fmt.Sprintf("hand over agent %d of pipeline %d", *pl.CurrentAgentID, pl.ID), func(ctx context.Context, d *house.House) error {
			return errorOf(d.Daemon.RequestHandoff(ctx, *pl.CurrentAgentID, handoffs.HandoffRequest{Force: true}))
		})
	}
}

func (p *person) command(what string, pl *daemon.Pipeline, h *host, do func(ctx context.Context, d *house.House) error) {
	p.w.plan.count("pipeline: " + what)
	_ = p.ask(h, fmt.Sprintf("%s pipeline %d", what, pl.ID), do)
}

// approve approves a pipeline's next step, or chooses it where the rules of the last one do not decide. It notes the approval
// before the request, because the step may begin before the daemon's answer.
func (p *person) approve(pl *daemon.Pipeline, h *host) {
	in := pipelines.Decision{Comment: "go on"}
	if s := pl.Asked(); s != nil {
		in.StepID = s.ID // a request that is sent again because its answer was lost must not approve the next step
		if s == pl.AwaitsWay() {
			p.w.chosen[s.ID], in.After = true, true
			if p.faulty() && p.w.rng.IntN(2) == 0 {
				in.Goto = 1 + p.w.rng.IntN(pl.Steps[len(pl.Steps)-1].Number)
			}
		} else {
			p.w.approved[s.ID] = true
		}
	}
	p.command("approve", pl, h, func(ctx context.Context, d *house.House) error {
		return errorOf(d.Pipelines.ApprovePipeline(ctx, pl.ID, in))
	})
}

func (p *person) resume(pl *daemon.Pipeline, skip bool) {
	what := "resume"
	if skip {
		what = "skip and resume"
	}
	p.command(what, pl, p.anyHost(), func(ctx context.Context, d *house.House) error {
		p.w.resumed[pl.ID]++ // for each attempt: the daemon may have carried out one whose answer was lost
		_, err := d.Pipelines.ResumePipeline(ctx, pl.ID, skip)
		return err
	})
}

// seeToPipelines approves waiting pipelines and resumes failed ones, once nothing goes wrong any more.
func (p *person) seeToPipelines(tries map[int64]int) {
	if p.faulty() {
		return
	}
	for _, pl := range p.w.pipelines() {
		switch {
		case pl.Status == daemon.PipelineWaiting && tries[pl.ID] < 30:
			p.approve(&pl, p.hostNamed(pl.Host))
		case pl.Status == daemon.PipelineFailed && tries[pl.ID] < 2:
			p.resume(&pl, tries[pl.ID] == 1)
		default:
			continue
		}
		tries[pl.ID]++
	}
}
