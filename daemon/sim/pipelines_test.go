package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// routed are the names of the templates whose rules a seed draws.
var routed = []string{"routed-1", "routed-2"}

// drawTemplates returns templates with rules that a seed draws, by name. A rule is "way N" under the heading Way.
func drawTemplates(rng *rand.Rand) map[string]string {
	drawn := map[string]string{}
	for _, name := range routed {
		var b strings.Builder
		b.WriteString("steps:\n")
		steps := 2 + rng.IntN(3)
		for i := range steps {
			fmt.Fprintf(&b, "- agent: %s\n", personaSlugs[i%len(personaSlugs)])
			if rng.IntN(5) == 0 {
				b.WriteString("  approval: true\n")
			}
			if rng.IntN(3) == 0 && i < steps-1 {
				continue
			}
			fmt.Fprintf(&b, "  max_rounds: %d\n  next:\n", 1+rng.IntN(3))
			for _, way := range rng.Perm(ways)[:1+rng.IntN(ways)] {
				fmt.Fprintf(&b, "  - {when: \"Way: way %d\", goto: %d}\n", way, 1+rng.IntN(steps))
			}
		}
		drawn[name] = b.String()
	}
	return drawn
}

// ways is how many different ways the agents of steps name.
const ways = 3

// wayOn adds to the answer of a step's agent what decides where the pipeline goes. Once nothing goes wrong any more, no agent
// sends work back.
func (a *agent) wayOn(answer string) string {
	row, err := a.w.lent.Agent(ctx(), a.id)
	if err != nil || row.StepID == nil || !a.odd("way of a step", 0.5) {
		return answer
	}
	return fmt.Sprintf("%s\n\n## Way\n\nway %d", answer, a.rng.IntN(ways))
}

// checkRoutes: the rows of a pipeline's steps are the edges that were taken. It decides anew where each output leads, in another
// way than the daemon.
func (w *world) checkRoutes(p *daemon.Pipeline) {
	byID, ledTo, count := map[int64]*daemon.Step{}, map[int64]*daemon.Step{}, map[int]int{}
	for i := range p.Steps {
		s := &p.Steps[i]
		count[s.Number]++
		if s.OrderIndex != i || s.Round != count[s.Number] {
			w.fail("step %d of pipeline %d is at place %d, in round %d: want round %d", s.ID, p.ID, s.OrderIndex, s.Round, count[s.Number])
		}
		if s.Status != daemon.StepPending {
			if at, ok := w.places[s.ID]; ok && at != i {
				w.fail("step %d of pipeline %d has begun and moved from place %d to %d", s.ID, p.ID, at, i)
			}
			w.places[s.ID] = i
		}
		if byID[s.ID] = s; s.CameFrom != nil {
			ledTo[*s.CameFrom] = s
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case s.CameFrom != nil:
			w.checkEdge(p, byID[*s.CameFrom], s)
		case i > 0 && s.Status != daemon.StepPending && s.Status != daemon.StepSkipped:
			w.fail("step %d of pipeline %d is %s, but no edge leads to it", s.ID, p.ID, s.Status)
		}
		if s.Undecided != "" && (s != p.AwaitsWay() || len(s.Next) == 0) {
			w.fail("step %d of pipeline %d is undecided (%s), but nobody is asked", s.ID, p.ID, s.Undecided)
		}
		if s.Status == daemon.StepDone && i < len(p.Steps)-1 && ledTo[s.ID] == nil && s.Undecided == "" {
			w.fail("step %d of pipeline %d is done, but leads nowhere", s.ID, p.ID)
		}
	}
}

// checkEdge: the output of a step leads where its rules say, and a round beyond the bound needs an approval.
func (w *world) checkEdge(p *daemon.Pipeline, from, to *daemon.Step) {
	edge := fmt.Sprintf("pipeline %d: the edge from place %d (step %d, round %d) to place %d (step %d, round %d)",
		p.ID, from.OrderIndex, from.Number, from.Round, to.OrderIndex, to.Number, to.Round)
	if from.Status == daemon.StepSkipped {
		return // by a person
	}
	if from.Status != daemon.StepDone || from.OrderIndex >= to.OrderIndex {
		w.fail("%s begins at a step that is %s", edge, from.Status)
		return
	}
	number, by := 0, ""
	if !strings.Contains(from.LatestHandoff.ContentMD, "\n## Way\n") && len(from.Next) > 0 {
		if !w.chosen[from.ID] {
			w.fail("%s was taken, but the output lacks the heading and nobody has chosen", edge)
		}
		if to.CameBy != "" {
			number, by = to.Number, to.CameBy
		}
	}
	for _, rule := range from.Next {
		if strings.HasSuffix(from.LatestHandoff.ContentMD, "## Way\n\n"+rule.When.Contains) {
			number, by = rule.Goto, "Way: "+rule.When.Contains
			break
		}
	}
	between := p.Steps[from.OrderIndex+1 : to.OrderIndex]
	skipped := !slices.ContainsFunc(between, func(s daemon.Step) bool { return s.Status != daemon.StepSkipped })
	switch {
	case to.CameBy != by || number != 0 && to.Number != number:
		w.fail("%s was taken by %q, but the output says step %d by %q", edge, to.CameBy, number, by)
	case number == 0 && (len(between) > 0 || to.Number != from.Number+1):
		w.fail("%s is not that to the following step", edge)
	case number > from.Number && (!skipped || len(between) != number-from.Number-1):
		w.fail("%s does not skip what lies in between", edge)
	case number != 0 && number <= from.Number && len(between) > 0:
		w.fail("%s is not directly behind", edge)
	case number != 0 && number <= from.Number && from.Round >= from.MaxRounds && !to.Approval && !w.chosen[from.ID]:
		w.fail("%s is beyond the %d rounds, but needs no approval", edge, from.MaxRounds)
	}
}
