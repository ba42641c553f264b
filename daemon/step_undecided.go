package daemon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

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

// UndecidedWords says why a person must choose which step comes after s; "": nobody must. It ends without a full stop.
func (p *Pipeline) UndecidedWords(s *Step) string {
	headings := ""
	for i, rule := range s.Next {
		if heading := words.Line(rule.When.Heading); !slices.ContainsFunc(s.Next[:i], func(r personas.Rule) bool { return r.When.Heading == rule.When.Heading }) {
			headings = words.Join(", ", headings, heading)
		}
	}
	who := fmt.Sprintf("step %d (%s)", s.OrderIndex+1, s.AgentName)
	switch s.Undecided {
	case "":
		return ""
	case UndecidedMissing:
		return fmt.Sprintf("%s has left no heading %s, on which its rules depend", who, headings)
	case UndecidedEmpty:
		return fmt.Sprintf("%s has written nothing under %s, on which its rules depend", who, headings)
	case UndecidedNoRule:
		return fmt.Sprintf("no rule of %s applies to what stands under %s", who, headings)
	}
	return fmt.Sprintf("it is not clear what %s means under %s", who, headings)
}

// writtenLength is how many characters of what was written are shown in one line.
const writtenLength = 160

// Written returns what an undecided step has written where its rules look: the text under the headings or, if the output
// lacks them, its end.
func (s *Step) Written() string {
	if s.LatestHandoff == nil {
		return ""
	}
	var all []string
	for i, rule := range s.Next {
		if slices.ContainsFunc(s.Next[:i], func(r personas.Rule) bool { return data.SameHeading(r.When.Heading, rule.When.Heading) }) {
			continue
		}
		for _, u := range data.AllUnder(s.LatestHandoff.ContentMD, rule.When.Heading) {
			if u.Text != "" {
				all = append(all, u.Text)
			}
		}
	}
	if len(all) == 0 {
		const end = 2000
		text := []rune(strings.TrimSpace(s.LatestHandoff.ContentMD))
		return string(text[max(0, len(text)-end):])
	}
	return strings.Join(all, "\n\n")
}

// writtenLine is what an undecided step has written, in one line for a notification; "": nothing.
func (s *Step) writtenLine() string {
	text := []rune(words.Line(s.Written()))
	switch {
	case len(text) == 0:
		return ""
	case len(text) <= writtenLength:
		return fmt.Sprintf("it wrote %q; ", string(text))
	case s.Undecided == UndecidedMissing: // the end of the message is nearest to a verdict
		return fmt.Sprintf("it ended with %q; ", "…"+string(text[len(text)-writtenLength:]))
	}
	return fmt.Sprintf("it wrote %q; ", string(text[:writtenLength])+"…")
}

// ChoiceWords says why a person must choose which step comes after s, and with which commands.
func (p *Pipeline) ChoiceWords(s *Step) string {
	return p.UndecidedWords(s) + "; " + s.writtenLine() + p.wayNext(s)
}

// wayNext names the commands that choose which step comes after an undecided one.
func (p *Pipeline) wayNext(s *Step) string {
	on := "is done"
	if next := p.NextStep(s); next != nil {
		on = fmt.Sprintf("goes on to step %d (%s)", next.Number, next.AgentName)
	}
	text := fmt.Sprintf("read `understudy pipeline show %[1]d --step %[2]d`; with `understudy pipeline approve %[1]d` it %[3]s", p.ID, s.OrderIndex+1, on)
	for _, to := range p.Ways(s) {
		text += fmt.Sprintf(", with `--goto %d` to %s", to.Number, to.AgentName)
	}
	return text + fmt.Sprintf("; `understudy pipeline reject %d` ends it", p.ID)
}

// Ways returns the steps to which the rules of s lead, each once.
func (p *Pipeline) Ways(s *Step) (list []*Step) {
	for _, rule := range s.Next {
		if to := p.NewestOf(rule.Goto); to != nil && !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	return list
}
