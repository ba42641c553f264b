package pipelines

import (
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// decide reads what an output says for the rules of its step. rule is the first rule that applies; nil: none does, so the
// following step comes, unless why says that a person must decide.
func decide(s *daemon.Step, output string) (rule *personas.Rule, why daemon.Undecided) {
	lacking, unclear := daemon.UndecidedNoRule, false
	refuses := func(u data.Under) bool { return data.Refuses(u.Text) }
	if s.Otherwise != personas.Stop {
		lacking = ""
	}
	for i := range s.Next {
		rule := &s.Next[i]
		under := data.AllUnder(output, rule.When.Heading)
		if len(under) > 1 {
			under = slices.DeleteFunc(under, func(u data.Under) bool { return !data.HasWords(u.Text) })
		}
		switch {
		case len(under) == 0:
			lacking = daemon.UndecidedMissing
		case !slices.ContainsFunc(under, func(u data.Under) bool { return data.HasWords(u.Text) }):
			lacking = daemon.UndecidedEmpty
		}
		switch weigh(s, under, rule.When) {
		case data.Said:
			return rule, ""
		case data.Unclear:
			return nil, daemon.UndecidedUnclear
		case data.Near:
			unclear = true
		}
		// Where a rule sends the work back, a refusal in other words must not let it go on.
		unclear = unclear || rule.Goto <= s.Number && slices.ContainsFunc(under, refuses)
	}
	if unclear {
		return nil, daemon.UndecidedUnclear
	}
	return nil, lacking
}

// weigh says what stands under the headings of an output for the words of a rule. If the output has the heading several
// times, they must agree.
func weigh(s *daemon.Step, under []data.Under, when personas.Condition) (all data.Verdict) {
	for i, u := range under {
		text := u.Text
		// What stands in the heading's own line counts alone, if it says something to one of the rules.
		for _, other := range s.Next {
			if data.SameHeading(other.When.Heading, when.Heading) && data.Weigh(u.Own, other.When.Contains) != data.Unsaid {
				text = u.Own
			}
		}
		verdict := data.Weigh(text, when.Contains)
		if i > 0 && verdict != all {
			return data.Unclear
		}
		all = verdict
	}
	return all
}

// askWay asks a person which step comes after s.
func askWay(r *pipelineRun, s *daemon.Step) runOutcome {
	s.AskedAt = &r.now
	r.p.Status, r.p.Note = daemon.PipelineWaiting, ""
	e := r.event(event.PipelineWaitingForApproval, s, map[string]any{"undecided": s.Undecided, "message": r.askFor(s, "waits")})
	e.Notice = event.NoticeWaiting
	return runOutcome{with: &daemon.Change{PipelineMove: &daemon.PipelineMove{Steps: []*daemon.Step{s}}, Events: []*event.Event{e}}}
}

// chooseWay goes from an undecided step to the step that a person has chosen, by its number in the template; 0: the
// following one. The agent of that step gets the comment.
func chooseWay(r *pipelineRun, s *daemon.Step, number int, comment string) (*daemon.Change, error) {
	if number < 0 || number > lastNumber(r.p) {
		return nil, daemon.Errorf(daemon.KindInvalid, daemon.CodeBadGoto, "goto %d is no step: the steps are numbered from 1 to %d", number, lastNumber(r.p))
	}
	s.Undecided = ""
	c := r.goAhead()
	c.PipelineMove = &daemon.PipelineMove{Steps: []*daemon.Step{s}}
	var by *edge
	if number != 0 {
		by = &edge{to: number, by: chosenWay, chosen: true}
	}
	next, err := r.lead(s, by, c)
	if err != nil {
		return nil, err
	}
	if next != nil {
		next.Comment = comment
	}
	c.Events = append([]*event.Event{r.event(event.StepApproved, s, map[string]any{"comment": comment, "goto": number})}, c.Events...)
	return c, nil
}

// chosenWay stands in place of a rule on the row of the step to which a person has sent the work.
const chosenWay = "a person's choice"

// lastNumber returns how many steps the template has.
func lastNumber(p *daemon.Pipeline) (n int) {
	for i := range p.Steps {
		n = max(n, p.Steps[i].Number)
	}
	return n
}
