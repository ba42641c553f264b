package pipelines

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
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
func after(p *daemon.Pipeline, s *daemon.Step, by *edge) *daemon.Step {
	switch {
	case by == nil:
		return p.NextStep(s)
	case by.to <= s.Number:
		return p.NewestOf(by.to)
	}
	for i := s.OrderIndex + 1; i < len(p.Steps); i++ {
		if p.Steps[i].Number == by.to {
			return &p.Steps[i]
		}
	}
	return p.NextStep(s)
}

// pastBound returns the step that sent the work back to s in the last round that its max_rounds allows; nil: s is no such
// target. A person must approve such a round.
func pastBound(p *daemon.Pipeline, s *daemon.Step) *daemon.Step {
	from := p.CameFrom(s)
	if from == nil || s.CameBy == "" || s.Number > from.Number || from.Round < from.MaxRounds {
		return nil
	}
	return from
}

// leadOn writes which step comes after s, which has ended with an output, to the change that ends s. The decision depends on
// nothing but the rows and the output. If the rules don't decide, a person is asked when the pipeline is looked at again.
func (r *pipelineRun) leadOn(s *daemon.Step, output string, c *daemon.Change) error {
	rule, why := decide(s, output)
	if s.Undecided = why; why != "" {
		return nil
	}
	_, err := r.lead(s, edgeOf(rule), c)
	return err
}

// lead writes to a change that the work leaves s by an edge, and returns the step that comes next; nil: none does.
func (r *pipelineRun) lead(s *daemon.Step, by *edge, c *daemon.Change) (next *daemon.Step, err error) {
	next = after(r.p, s, by)
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
func (r *pipelineRun) skip(s *daemon.Step, c *daemon.Change) {
	s.Status = daemon.StepSkipped
	if s.FinishedAt == nil {
		s.FinishedAt = &r.now
	}
	c.PipelineMove.Steps = append(c.PipelineMove.Steps, s)
	c.Events = append(c.Events, r.event(event.StepSkipped, s, nil))
}

// goBack makes the rows of a new round, from the step to which the edge leads to s itself, and moves the rows behind s. It
// returns the first of them.
func (r *pipelineRun) goBack(s *daemon.Step, by *edge, c *daemon.Change) (first *daemon.Step, err error) {
	for i := s.OrderIndex + 1; i < len(r.p.Steps); i++ {
		r.p.Steps[i].OrderIndex += s.Number - by.to + 1
		c.PipelineMove.Steps = append(c.PipelineMove.Steps, &r.p.Steps[i])
	}
	for number := by.to; number <= s.Number; number++ {
		id, err := r.room.store.NextID(r.ctx, daemon.StepIDs)
		if err != nil {
			return nil, err
		}
		again := again(r.p, number)
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
func again(p *daemon.Pipeline, number int) *daemon.Step {
	last := p.NewestOf(number)
	row := &daemon.Step{
		PipelineID: p.ID, AgentName: last.AgentName, Persona: last.Persona, Skill: last.Skill, Runtime: last.Runtime, Model: last.Model,
		Description: last.Description, Prompt: last.Prompt, RemindAfter: last.RemindAfter, Timeout: last.Timeout, Status: daemon.StepPending,
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
func (r *pipelineRun) routed(s, to *daemon.Step) *event.Event {
	return r.event(event.StepRouted, s, map[string]any{
		"to_step": to.OrderIndex + 1, "to_agent_name": to.AgentName, "to_step_id": to.ID, "to_round": to.Round, "rule": to.CameBy,
	})
}

// roundNext says, for a step that waits for the approval of a round past the bound, why it waits; "": it does not.
func roundNext(p *daemon.Pipeline, s *daemon.Step) string {
	from := pastBound(p, s)
	if from == nil {
		return ""
	}
	return fmt.Sprintf("step %d (%s) has sent the work back in round %d of at most %d; approve allows one further round, and after reject "+
		"`understudy pipeline resume %d --skip` goes on without it; ", from.OrderIndex+1, from.AgentName, from.Round, from.MaxRounds, p.ID)
}

// skipped returns the steps that a person leaves out with s: s alone or, if s begins a round past the bound, all of that round.
func skipped(p *daemon.Pipeline, s *daemon.Step) []*daemon.Step {
	from, list := pastBound(p, s), []*daemon.Step{s}
	for i := s.OrderIndex + 1; from != nil && i <= s.OrderIndex+from.Number-s.Number; i++ {
		list = append(list, &p.Steps[i])
	}
	return list
}
