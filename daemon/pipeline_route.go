package daemon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/personas"
)

// The rows of a pipeline's steps are in the order in which they are worked on. At first there is one row for each step of the
// template. When a rule of a step leads back, new rows are put behind that step's row: one for each step from the target to
// that step, with the next round. Rows that have begun are never used again. When a rule leads forward, the rows in between
// are skipped. So behind the row of step n there is always one row for each later step of the template, in its order.

// edge is how the work leaves a step, if not to the following one.
type edge struct {
	to     int    // the number of a step of the template
	by     string // the rule
	chosen bool   // a person has chosen it
}

// edgeOf returns the edge of a rule; nil: the following step comes.
func edgeOf(rule *personas.Rule) *edge {
	if rule == nil {
		return nil
	}
	return &edge{to: rule.Goto, by: rule.When.String()}
}

// after returns the step to which an edge leads from s; nil: there is none. If the work goes back, it is the newest row of that
// step, from which the row of the new round is made.
func (p *Pipeline) after(s *Step, by *edge) *Step {
	switch {
	case by == nil:
		return p.nextStep(s)
	case by.to <= s.Number:
		return p.newestOf(by.to)
	}
	for i := s.OrderIndex + 1; i < len(p.Steps); i++ {
		if p.Steps[i].Number == by.to {
			return &p.Steps[i]
		}
	}
	return p.nextStep(s)
}

// newestOf returns the newest row of the step with that number in the template; nil: there is none.
func (p *Pipeline) newestOf(number int) *Step {
	for i := range slices.Backward(p.Steps) {
		if p.Steps[i].Number == number {
			return &p.Steps[i]
		}
	}
	return nil
}

// CameFrom returns the step whose end led to s; nil: s is the first step, has not been reached, or an older version of the
// daemon reached it.
func (p *Pipeline) CameFrom(s *Step) *Step {
	if s.CameFrom == nil {
		return nil
	}
	return p.step(*s.CameFrom)
}

// pastBound returns the step that sent the work back to s in the last round that its max_rounds allows; nil: s is no such
// target. A person must approve such a round.
func (p *Pipeline) pastBound(s *Step) *Step {
	from := p.CameFrom(s)
	if from == nil || s.CameBy == "" || s.Number > from.Number || from.Round < from.MaxRounds {
		return nil
	}
	return from
}

// leadOn writes which step comes after s, which has ended with an output, to the change that ends s. The decision depends on
// nothing but the rows and the output. If the rules don't decide, a person is asked when the pipeline is looked at again.
func (r *pipelineRun) leadOn(s *Step, output string, c *Change) error {
	rule, why := s.decide(output)
	if s.Undecided = why; why != "" {
		return nil
	}
	_, err := r.lead(s, edgeOf(rule), c)
	return err
}

// lead writes to a change that the work leaves s by an edge, and returns the step that comes next; nil: none does.
func (r *pipelineRun) lead(s *Step, by *edge, c *Change) (next *Step, err error) {
	next = r.p.after(s, by)
	switch {
	case next == nil:
		return nil, nil
	case by != nil && by.to <= s.Number:
		return r.goBack(s, by, c)
	}
	if by != nil {
		next.CameBy = by.by
		for i := s.OrderIndex + 1; i < next.OrderIndex; i++ {
			r.skip(&r.p.Steps[i], c)
		}
		c.Events = append(c.Events, r.routed(s, next))
	}
	next.CameFrom = &s.ID
	c.PipelineMove.Steps = append(c.PipelineMove.Steps, next)
	return next, nil
}

// skip skips a step that has not begun, or has failed.
func (r *pipelineRun) skip(s *Step, c *Change) {
	s.Status = StepSkipped
	if s.FinishedAt == nil {
		s.FinishedAt = &r.now
	}
	c.PipelineMove.Steps = append(c.PipelineMove.Steps, s)
	c.Events = append(c.Events, r.event(event.StepSkipped, s, nil))
}

// goBack makes the rows of a new round, from the step to which the edge leads to s itself, and moves the rows behind s. It
// returns the first of them.
func (r *pipelineRun) goBack(s *Step, by *edge, c *Change) (first *Step, err error) {
	for i := s.OrderIndex + 1; i < len(r.p.Steps); i++ {
		r.p.Steps[i].OrderIndex += s.Number - by.to + 1
		c.PipelineMove.Steps = append(c.PipelineMove.Steps, &r.p.Steps[i])
	}
	for number := by.to; number <= s.Number; number++ {
		id, err := r.d.Store.NextID(r.ctx, StepIDs)
		if err != nil {
			return nil, err
		}
		again := r.p.again(number)
		again.ID, again.OrderIndex = id, s.OrderIndex+1+number-by.to
		if first == nil {
			first, again.CameFrom, again.CameBy = again, &s.ID, by.by
		}
		c.PipelineMove.NewSteps = append(c.PipelineMove.NewSteps, again)
	}
	c.Events = append(c.Events, r.routed(s, first))
	if s.Round >= s.MaxRounds && !by.chosen {
		first.Approval = true
		r.p.Warnings = append(r.p.Warnings, fmt.Sprintf("Step %d (%s) has sent the work back in round %d, and its max_rounds is %d: a person decides about a further round.",
			s.OrderIndex+1, s.AgentName, s.Round, s.MaxRounds))
	}
	return first, nil
}

// again returns a new row for the next round of a step, without an id and a place. Whether it needs an approval is what the
// template says, which the row of the first round has.
func (p *Pipeline) again(number int) *Step {
	last := p.newestOf(number)
	row := &Step{
		PipelineID: p.ID, AgentName: last.AgentName, Persona: last.Persona, Skill: last.Skill, Runtime: last.Runtime, Model: last.Model,
		Description: last.Description, Prompt: last.Prompt, RemindAfter: last.RemindAfter, Timeout: last.Timeout, Status: StepPending,
		Number: number, Round: last.Round + 1, Next: last.Next, Otherwise: last.Otherwise, MaxRounds: last.MaxRounds, AgentIDs: []int64{},
	}
	for i := range p.Steps {
		if p.Steps[i].Number == number {
			row.Approval = p.Steps[i].Approval
			break
		}
	}
	return row
}

// routed makes the event of an edge that a rule took.
func (r *pipelineRun) routed(s, to *Step) *event.Event {
	return r.event(event.StepRouted, s, map[string]any{
		"to_step": to.OrderIndex + 1, "to_agent_name": to.AgentName, "to_step_id": to.ID, "to_round": to.Round, "rule": to.CameBy,
	})
}

// roundNext says, for a step that waits for the approval of a round past the bound, why it waits; "": it does not.
func (p *Pipeline) roundNext(s *Step) string {
	from := p.pastBound(s)
	if from == nil {
		return ""
	}
	return fmt.Sprintf("step %d (%s) has sent the work back in round %d of at most %d; approve allows one further round, and after reject "+
		"`understudy pipeline resume %d --skip` goes on without it; ", from.OrderIndex+1, from.AgentName, from.Round, from.MaxRounds, p.ID)
}

// skipped returns the steps that a person leaves out with s: s alone or, if s begins a round past the bound, all of that round.
func (p *Pipeline) skipped(s *Step) []*Step {
	from, list := p.pastBound(s), []*Step{s}
	for i := s.OrderIndex + 1; from != nil && i <= s.OrderIndex+from.Number-s.Number; i++ {
		list = append(list, &p.Steps[i])
	}
	return list
}

// roundWords says where a step of a later round comes from, for its agent; "": it is the first round.
func (p *Pipeline) roundWords(s *Step) string {
	if s.Round < 2 {
		return ""
	}
	text := fmt.Sprintf("This is round %d of your step: the work was sent back after an earlier round", s.Round)
	if from := p.CameFrom(s); from != nil && s.CameBy != "" {
		text += fmt.Sprintf(", by step %d (%s), because of %q", from.Number, from.AgentName, words.Line(s.CameBy))
	}
	return text + ". Take up what the earlier rounds have left, and say what has changed since."
}

// ruleWords says for each rule of a step, for its agent, where its words lead.
func (p *Pipeline) ruleWords(s *Step) (list []string) {
	for _, rule := range s.Next {
		to := p.newestOf(rule.Goto)
		if to == nil {
			continue
		}
		list = append(list, fmt.Sprintf("**## %s** contains the words \"%s\": step %d (%s) comes next", rule.When.Heading, rule.When.Contains, to.Number, to.AgentName))
	}
	return list
}

// EdgeWords says which rule of which step led to a step, for people; "": none did. In the order of the steps, each leads to the
// one below it.
func (p *Pipeline) EdgeWords(s *Step) string {
	from := p.CameFrom(s)
	if from == nil || s.CameBy == "" {
		return ""
	}
	verb := "sent the work on"
	if s.Number <= from.Number {
		verb = "sent the work back"
	}
	return fmt.Sprintf("step %d (%s) %s: %s", from.OrderIndex+1, from.AgentName, verb, words.Line(s.CameBy))
}

// RuleWords says where the rules of a step lead, for people; "": it has none.
func (p *Pipeline) RuleWords(s *Step) string {
	var list []string
	for _, rule := range s.Next {
		if to := p.newestOf(rule.Goto); to != nil {
			list = append(list, fmt.Sprintf("%s → %s", words.Line(rule.When.String()), to.AgentName))
		}
	}
	if len(list) == 0 {
		return ""
	}
	if s.Otherwise == personas.Stop {
		list = append(list, "else a person decides")
	}
	return fmt.Sprintf("%s; at most %s", strings.Join(list, "; "), words.Count(s.MaxRounds, "round"))
}
