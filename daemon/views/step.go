package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// RunsOn says for people on which runtime the step's agent runs, and with which model; "": neither is known yet. A model that
// nobody has chosen is the runtime's default, and is not named.
func RunsOn(s *daemon.Step) string {
	var said []string
	if s.Runtime != "" {
		said = append(said, "on "+s.Runtime)
	}
	if s.Model != "" {
		said = append(said, "with "+s.Model)
	}
	return strings.Join(said, " ")
}

// EdgeWords says which rule of which step led to a step, for people; "": none did. In the order of the steps, each leads to the
// one below it.
func EdgeWords(p *daemon.Pipeline, s *daemon.Step) string {
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
func RuleWords(p *daemon.Pipeline, s *daemon.Step) string {
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

// UndecidedWords says why a person must choose which step comes after s; "": nobody must. It ends without a full stop.
func UndecidedWords(p *daemon.Pipeline, s *daemon.Step) string {
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
	case daemon.UndecidedMissing:
		return fmt.Sprintf("%s has left no heading %s, on which its rules depend", who, headings)
	case daemon.UndecidedEmpty:
		return fmt.Sprintf("%s has written nothing under %s, on which its rules depend", who, headings)
	case daemon.UndecidedNoRule:
		return fmt.Sprintf("no rule of %s applies to what stands under %s", who, headings)
	}
	return fmt.Sprintf("it is not clear what %s means under %s", who, headings)
}

// writtenLength is how many characters of what was written are shown in one line.
const writtenLength = 160

// Written returns what an undecided step has written where its rules look: the text under the headings or, if the output
// lacks them, its end.
func Written(s *daemon.Step) string {
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
func writtenLine(s *daemon.Step) string {
	text := []rune(words.Line(Written(s)))
	switch {
	case len(text) == 0:
		return ""
	case len(text) <= writtenLength:
		return fmt.Sprintf("it wrote %q; ", string(text))
	case s.Undecided == daemon.UndecidedMissing: // the end of the message is nearest to a verdict
		return fmt.Sprintf("it ended with %q; ", "…"+string(text[len(text)-writtenLength:]))
	}
	return fmt.Sprintf("it wrote %q; ", string(text[:writtenLength])+"…")
}

// ChoiceWords says why a person must choose which step comes after s, and with which commands.
func ChoiceWords(p *daemon.Pipeline, s *daemon.Step) string {
	return UndecidedWords(p, s) + "; " + writtenLine(s) + wayNext(p, s)
}

// wayNext names the commands that choose which step comes after an undecided one.
func wayNext(p *daemon.Pipeline, s *daemon.Step) string {
	on := "is done"
	if next := p.NextStep(s); next != nil {
		on = fmt.Sprintf("goes on to step %d (%s)", next.Number, next.AgentName)
	}
	text := fmt.Sprintf("read `understudy pipeline show %[1]d --step %[2]d`; with `understudy pipeline approve %[1]d` it %[3]s", p.ID, s.OrderIndex+1, on)
	for _, to := range Ways(p, s) {
		text += fmt.Sprintf(", with `--goto %d` to %s", to.Number, to.AgentName)
	}
	return text + fmt.Sprintf("; `understudy pipeline reject %d` ends it", p.ID)
}

// Ways returns the steps to which the rules of s lead, each once.
func Ways(p *daemon.Pipeline, s *daemon.Step) (list []*daemon.Step) {
	for _, rule := range s.Next {
		if to := p.NewestOf(rule.Goto); to != nil && !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	return list
}
