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
	return must(w.lent.Pipelines(ctx(), daemon.PipelineFilter{Limit: 1000}))
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
func (p *person) createPipeline(h *host) int64 {
	in := pipelines.NewPipeline{Template: templateNames[p.w.rng.IntN(len(templateNames))], Prompt: p.newText(), Cwd: h.cwd}
	in.Title = fmt.Sprintf("Pipeline %d of %s", p.texts, p.name)
	if p.w.rng.IntN(4) == 0 {
		in.Branch = fmt.Sprintf("branch-%d", p.w.rng.IntN(3))
	}
	// If the answer is lost, the daemon has created the pipeline all the same.
	created, _ := request(p, h, "create a pipeline of "+in.Template, func(ctx context.Context, d *house.House) (daemon.Pipeline, error) {
		return d.Pipelines.CreatePipeline(ctx, in)
	})
	p.w.plan.count("pipelines")
	return created.ID
}

// react has the person look at a pipeline and act on it.
func (p *person) react(pl *daemon.Pipeline) {
	n := p.w.rng.IntN(100)
	switch {
	case pl.Status == daemon.PipelineWaiting && n < 60:
		p.approve(pl, p.anyHost())
	case pl.Status == daemon.PipelineWaiting && n < 75:
		p.w.plan.count("pipeline: reject")
		_ = decide(p, p.anyHost(), pl.ID, (*pipelines.Room).RejectPipeline, pipelines.Decision{Comment: "not so"})
	case pl.Open() && n < 84 && n >= 80:
		p.w.plan.count("pipeline: abort")
		_ = abort(p, p.anyHost(), pl.ID)
	case pl.Status == daemon.PipelineFailed && n < 50:
		p.resume(pl, n < 15)
	case pl.CurrentAgentID == nil:
	case n < 8:
		p.send(*pl.CurrentAgentID)
	case n < 16:
		_ = handOff(p, p.anyHost(), *pl.CurrentAgentID, handoffs.HandoffRequest{Force: true})
	}
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
	p.w.plan.count("pipeline: approve")
	_ = decide(p, h, pl.ID, (*pipelines.Room).ApprovePipeline, in)
}

func (p *person) resume(pl *daemon.Pipeline, skip bool) {
	p.w.plan.count(map[bool]string{false: "pipeline: resume", true: "pipeline: skip and resume"}[skip])
	_ = resumePipeline(p, p.anyHost(), pl.ID, skip)
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
