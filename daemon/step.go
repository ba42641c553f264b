package daemon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
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

// StartedWith reports whether a delivery is the agent's first prompt.
func (a *Agent) StartedWith(dl *Delivery) bool {
	return a.FirstPromptID != nil && *a.FirstPromptID == dl.ID
}

// RoundWords says where a step of a later round comes from, for its agent; "": it is the first round.
func (p *Pipeline) RoundWords(s *Step) string {
	if s.Round < 2 {
		return ""
	}
	text := fmt.Sprintf("This is round %d of your step: the work was sent back after an earlier round", s.Round)
	if from := p.CameFrom(s); from != nil && s.CameBy != "" {
		text += fmt.Sprintf(", by step %d (%s), because of %q", from.Number, from.AgentName, words.Line(s.CameBy))
	}
	return text + ". Take up what the earlier rounds have left, and say what has changed since."
}

// RulesTold says for each rule of a step, for its agent, where its words lead.
func (p *Pipeline) RulesTold(s *Step) (list []string) {
	for _, rule := range s.Next {
		to := p.NewestOf(rule.Goto)
		if to == nil {
			continue
		}
		list = append(list, fmt.Sprintf("**## %s** contains the words \"%s\": step %d (%s) comes next", rule.When.Heading, rule.When.Contains, to.Number, to.AgentName))
	}
	return list
}

// RunsOn says for people on which runtime the step's agent runs, and with which model; "": neither is known yet. A model that
// nobody has chosen is the runtime's default, and is not named.
func (s *Step) RunsOn() string {
	var said []string
	if s.Runtime != "" {
		said = append(said, "on "+s.Runtime)
	}
	if s.Model != "" {
		said = append(said, "with "+s.Model)
	}
	return strings.Join(said, " ")
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
		if to := p.NewestOf(rule.Goto); to != nil {
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
