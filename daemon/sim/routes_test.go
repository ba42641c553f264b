package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
)

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
