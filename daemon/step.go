package daemon

import (
	"slices"

	"github.com/understudyd/understudy/data"
)

// StepMetrics are the measured times (in milliseconds) and sizes of what a step passes on.
type StepMetrics struct {
	DurationMS            float64 `json:"duration_ms"` // the assembly of the context
	TotalMS               int64   `json:"total_ms"`    // the step
	ContextSizeBytes      int64   `json:"context_size_bytes"`
	MessagesTransferred   int     `json:"messages_transferred"`
	DecisionsTransferred  int     `json:"decisions_transferred"`
	MemoryRefsTransferred int     `json:"memory_refs_transferred"`
}

// StepRecord is the large part of what a step passes on. It is stored with the step's output.
type StepRecord struct {
	Context    string           `json:"context"`    // the content of the context file; "": an older version recorded the output
	Messages   []data.Message   `json:"messages"`   // of the sessions of this step, the oldest first
	Decisions  []data.Decision  `json:"decisions"`  // of this output only
	References []data.Reference `json:"references"` // the files that the agents of this step and of those before it touched
}

// NextStep returns the step that begins after s; nil: s is the last one.
func (p *Pipeline) NextStep(s *Step) *Step {
	for i := s.OrderIndex + 1; i < len(p.Steps); i++ {
		if p.Steps[i].Status != StepSkipped {
			return &p.Steps[i]
		}
	}
	return nil
}

// Who returns the persona that plays a step, or the role for which no persona was found yet.
func (s *Step) Who() string {
	if s.Persona != nil {
		return *s.Persona
	}
	return s.AgentName
}

// StartWith notes the text that the agent is started with.
func (a *Agent) StartWith(dl *Delivery) { a.FirstPromptID = &dl.ID }

// IsStepPrompt reports whether a delivery is the prompt of the agent's step. If the agent does not get it, the step tells.
func (a *Agent) IsStepPrompt(dl *Delivery) bool {
	return a.StepID != nil && a.FirstPromptID != nil && *a.FirstPromptID == dl.ID
}

// NewestOf returns the newest row of the step with that number in the template; nil: there is none.
func (p *Pipeline) NewestOf(number int) *Step {
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
	return p.Step(*s.CameFrom)
}
