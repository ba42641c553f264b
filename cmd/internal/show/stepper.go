package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// Stepper prints each step of a pipeline when the step has ended. On a terminal it draws the running step below them. In
// a pipe it prints which agent begins to work on a step.
type Stepper struct {
	*term.Progress
	wide  int                         // width of the widest label
	told  map[int64]daemon.StepStatus // by step: the status with which its end was printed
	begun map[int64]int               // by step: how many agents were printed
	warns int                         // how many warnings were printed
}

// NewStepper returns a stepper for the steps of a pipeline that end after the state p. It does not print steps that
// ended before.
func NewStepper(u *term.UI, p *daemon.Pipeline) *Stepper {
	w := &Stepper{Progress: &term.Progress{UI: u}, told: map[int64]daemon.StepStatus{}, begun: map[int64]int{}}
	for i, s := range p.Steps {
		w.wide = max(w.wide, fit.Width(w.name(p, i)))
		if s.FinishedAt != nil {
			w.told[s.ID] = s.Status
		}
	}
	return w
}

// name returns the label of a step: its number, its agent, and its round if that is not the first.
func (w *Stepper) name(p *daemon.Pipeline, i int) string {
	name := fmt.Sprintf("%d/%d %s", i+1, len(p.Steps), words.Terminal(p.Steps[i].AgentName))
	if round := p.Steps[i].Round; round > 1 {
		name += fmt.Sprintf(", round %d", round)
	}
	return fit.Pad(name, max(w.wide, fit.Width(name)))
}

// Look prints the changes of a pipeline since the last call, and reports whether the pipeline has ended.
func (w *Stepper) Look(p *daemon.Pipeline) bool {
	for ; w.warns < len(p.Warnings); w.warns++ {
		w.Clear()
		w.Printf("%s\n", w.Yellow(w.Hang("warning: "+p.Warnings[w.warns])))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if ended(s) && w.told[s.ID] != s.Status {
			w.told[s.ID] = s.Status
			w.end(p, i)
		}
	}
	if !p.Open() {
		w.Clear()
		return true
	}
	i := p.Front()
	if i == len(p.Steps) || p.Status == daemon.PipelinePending {
		w.at(words.Of(p.Status), "", Since(p, i))
	} else {
		s := &p.Steps[i]
		w.at(w.name(p, i), agentWords(s), Since(p, i))
		if n := len(s.AgentIDs); !w.Terminal && s.Status == daemon.StepRunning && n > w.begun[s.ID] {
			w.begun[s.ID] = n
			w.Printf("  … %-*s              %s\n", term.LabelWidth, w.Label, agentWords(s))
		}
	}
	w.Wait(NoteWords(p))
	return false
}

func ended(s *daemon.Step) bool {
	return s.Status == daemon.StepDone || s.Status == daemon.StepFailed || s.Status == daemon.StepSkipped
}

// at shows the running step. If a step was started a second time, the shown time counts from the second start.
func (w *Stepper) at(label, about string, since time.Time) {
	w.Start(label, since)
	w.Since, w.About = since, about
}

// Since returns when a pipeline came to its present step i.
func Since(p *daemon.Pipeline, i int) time.Time {
	at := p.CreatedAt
	switch {
	case p.Status == daemon.PipelinePending:
		return p.UpdatedAt
	case i < len(p.Steps) && p.Steps[i].Status == daemon.StepRunning && p.Steps[i].StartedAt != nil:
		return *p.Steps[i].StartedAt
	case p.StartedAt != nil:
		at = *p.StartedAt
	}
	for _, s := range p.Steps[:i] {
		if s.FinishedAt != nil {
			at = *s.FinishedAt
		}
	}
	return at
}

// end prints a step that has ended.
func (w *Stepper) end(p *daemon.Pipeline, i int) {
	s := &p.Steps[i]
	about := agentWords(s)
	switch s.Status {
	case daemon.StepDone:
		w.Done(w.name(p, i), stepTime(s), words.Join(": ", about, outputWords(s)))
	case daemon.StepSkipped:
		w.Line(w.Yellow("–"), w.name(p, i), stepTime(s), words.Join(": ", about, words.Join(": ", "skipped", term.Text(s.Error))))
	default:
		why := term.Text(s.Error)
		if strings.Contains(term.Text(p.Error), why) { // the pipeline's own error contains this error
			why = ""
		}
		w.Failed(w.name(p, i), stepTime(s), words.Join(": ", about, why))
	}
}

// describe prints a step in its present state.
func (w *Stepper) describe(p *daemon.Pipeline, i int) {
	s := &p.Steps[i]
	gate := gateWords(p, i)
	switch {
	case s.Status == daemon.StepRunning:
		w.Line("▸", w.name(p, i), stepTime(s), words.Join(": ", agentWords(s), s.Description))
	case ended(s):
		w.end(p, i)
	default:
		line := fmt.Sprintf("    %s %11s  %s", fit.Pad(w.name(p, i), max(term.LabelWidth, w.wide)), "-", words.Terminal(cmp.Or(gate, s.Description)))
		w.Printf("%s\n", w.Dim(w.Fit(strings.TrimRight(line, " "))))
		gate = ""
	}
	for _, said := range []string{views.EdgeWords(p, s), runsWords(s), gate, headingWords(p, i), ruleWords(p, i), undecidedWords(p, i)} {
		for _, line := range w.Below(words.Terminal(said)) {
			if said != "" {
				w.Printf("%s\n", w.Dim(line))
			}
		}
	}
}

// runsWords says on which runtime a step runs, and with which model. It returns "" if neither is known.
func runsWords(s *daemon.Step) string {
	if on := views.RunsOn(s); on != "" {
		return "runs " + on
	}
	return ""
}

// ruleWords says where the rules of a step lead. It returns "" if it has none, or has ended: then the edge that was taken says it.
func ruleWords(p *daemon.Pipeline, i int) string {
	rules := views.RuleWords(p, &p.Steps[i])
	if rules == "" || ended(&p.Steps[i]) {
		return ""
	}
	return "leads on by " + rules
}

// undecidedWords says that a person must choose which step comes after a step, and what it has written. It returns "" if nobody must.
func undecidedWords(p *daemon.Pipeline, i int) string {
	s := p.AwaitsWay()
	if s != &p.Steps[i] {
		return ""
	}
	return words.Join(": ", views.UndecidedWords(p, s), words.Clip(words.Line(views.Written(s)), outputLength))
}

// headingWords says that a step's output has none of the four headings. It returns "" if that is not so.
func headingWords(p *daemon.Pipeline, i int) string {
	s := &p.Steps[i]
	switch h := s.LatestHandoff; {
	case s.Status != daemon.StepDone || h == nil || h.Metadata != nil || h.ContentMD == "":
		return ""
	case i == len(p.Steps)-1:
		return "none of the four headings: kept as it is"
	}
	return "none of the four headings: passed on as it is"
}

// gateWords says whether a step was approved. It returns "" if the step needs no approval.
func gateWords(p *daemon.Pipeline, i int) string {
	s := &p.Steps[i]
	switch {
	case !s.Approval:
		return ""
	case s.ApprovedAt != nil:
		return words.Join(": ", "approved "+term.Stamp(s.ApprovedAt), s.Comment)
	case ended(s): // the step was rejected or skipped
		return s.Comment
	case p.Status == daemon.PipelineWaiting && i == p.Front():
		return "waits for approval"
	}
	return "needs approval"
}
