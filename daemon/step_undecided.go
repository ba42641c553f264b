package daemon

// Undecided is why the rules of a step don't say which step comes next. The pipeline then waits for a person.
type Undecided string

// Why a step's way is undecided; "": it is decided.
const (
	UndecidedMissing Undecided = "missing" // the output lacks the heading on which the rules depend
	UndecidedEmpty   Undecided = "empty"   // nothing stands under the heading
	UndecidedUnclear Undecided = "unclear" // the words of a rule stand there, but may not be meant, or in another form
	UndecidedNoRule  Undecided = "no_rule" // no rule applies, and the template says else: stop
)

// AwaitsWay returns the step whose way a person must choose; nil: there is none. It is done, and nothing behind it has begun.
func (p *Pipeline) AwaitsWay() *Step {
	i := p.Front() - 1
	if i < 0 || p.Steps[i].Undecided == "" || p.Steps[i].Status != StepDone {
		return nil
	}
	// A daemon of the last release does not know of the question, and goes on: see 00075_undecided.sql.
	if next := p.FrontStep(); next != nil && (len(next.AgentIDs) > 0 || next.ApprovedAt != nil) {
		return nil
	}
	return &p.Steps[i]
}

// Asked returns the step about which a person decides while the pipeline waits: one whose way is undecided, or the one that
// needs an approval; nil: there is none.
func (p *Pipeline) Asked() *Step {
	if s := p.AwaitsWay(); s != nil {
		return s
	}
	return p.FrontStep()
}
