package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// watchPipeline shows a run's steps as they go, from where p says that it is, until its end. Nothing
// that is typed here ends the run.
func (a *app) watchPipeline(ctx context.Context, c *api.Client, p daemon.Pipeline) error {
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	u := a.ui(out)
	u.printf("%s\n", u.hang(fmt.Sprintf("pipeline %d (%s): %s", p.ID, p.Template, p.Title)))
	w := newStepper(u, &p)
	defer w.clear()
	fresh := true // what the daemon has just answered is looked at first: it may be going away
	err := await(ctx, c, w.idle, func(ctx context.Context) (bool, error) {
		if !fresh {
			now, err := c.Pipeline(ctx, p.ID)
			if err != nil {
				return false, err
			}
			p = now
		}
		fresh = false
		return w.look(&p), nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		w.clear()
		said := fmt.Sprintf("no longer watched; pipeline %d goes on: `understudy pipeline show %[1]d` tells how, `understudy pipeline abort %[1]d` ends it", p.ID)
		fmt.Fprintf(a.stderr, "understudy: %s\n", a.withData(said))
		return errSilent
	case err != nil:
		return err
	case a.json:
		if err := a.printJSON(p); err != nil {
			return err
		}
	}
	return a.tellRunEnd(u, &p)
}

// tellRunEnd says how a run has ended.
func (a *app) tellRunEnd(u *ui, p *daemon.Pipeline) error {
	switch {
	case p.Worktree != nil:
		u.printf("%s\n", u.hang("work tree "+treeWords(u, p)))
	case p.Branch != nil && p.Status == daemon.PipelineDone:
		u.printf("branch %s\n", printable(*p.Branch))
	}
	if p.Status == daemon.PipelineFailed {
		u := a.ui(a.stderr)
		u.printf("%s\n", u.hang(fmt.Sprintf("pipeline %d failed: %s", p.ID, errorWords(p))))
		if p.Hint != "" {
			u.printf("%s\n", u.hang(strings.TrimSuffix(capital(p.Hint), ".")+"."))
		}
		return errSilent
	}
	u.printf("%s in %s%s\n", u.green("done"), runTime(p), bracketed("work", workTime(p)))
	if result := resultWords(p); result != "" {
		u.printf("%s\n", u.hang(result))
	}
	return nil
}

// bracketed is a value with its name, after something; "" without one.
func bracketed(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", name, value)
}

// stepper prints the steps of a run, each once it has ended. On a terminal the one that the run is
// at is shown below them; in a pipe it is told who begins to work on it.
type stepper struct {
	*progress
	wide  int                         // of the longest label
	told  map[int64]daemon.StepStatus // by step: the end that was printed
	begun map[int64]int               // by step: how many agents were told of
	warns int                         // of the warnings: how many were told
}

// newStepper returns one that tells what happens to a run after p: what has ended by then is known.
func newStepper(u *ui, p *daemon.Pipeline) *stepper {
	w := &stepper{progress: &progress{ui: u, measure: lasted}, told: map[int64]daemon.StepStatus{}, begun: map[int64]int{}}
	for i, s := range p.Steps {
		w.wide = max(w.wide, utf8.RuneCountInString(w.name(p, i)))
		if s.FinishedAt != nil {
			w.told[s.ID] = s.Status
		}
	}
	return w
}

// name is the number and the agent of a step.
func (w *stepper) name(p *daemon.Pipeline, i int) string {
	name := fmt.Sprintf("%d/%d %s", i+1, len(p.Steps), printable(p.Steps[i].AgentName))
	return name + strings.Repeat(" ", max(w.wide-utf8.RuneCountInString(name), 0))
}

// look shows where a run is, and reports whether it has ended.
func (w *stepper) look(p *daemon.Pipeline) bool {
	for ; w.warns < len(p.Warnings); w.warns++ {
		w.clear()
		w.printf("%s\n", w.yellow(w.hang("warning: "+p.Warnings[w.warns])))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if ended(s) && w.told[s.ID] != s.Status {
			w.told[s.ID] = s.Status
			w.end(p, i)
		}
	}
	if !p.Open() {
		w.clear()
		return true
	}
	i := p.Front()
	if i == len(p.Steps) || p.Status == daemon.PipelinePending {
		w.at(runWords(p.Status), "", since(p, i))
	} else {
		s := &p.Steps[i]
		w.at(w.name(p, i), agentWords(s), since(p, i))
		if n := len(s.AgentIDs); !w.terminal && s.Status == daemon.StepRunning && n > w.begun[s.ID] {
			w.begun[s.ID] = n
			w.printf("  … %-*s            %s\n", labelWidth, w.label, agentWords(s))
		}
	}
	w.wait(noteWords(p))
	return false
}

func ended(s *daemon.Step) bool {
	return s.Status == daemon.StepDone || s.Status == daemon.StepFailed || s.Status == daemon.StepSkipped
}

// at shows the step that a run is at. One that was begun again counts from then.
func (w *stepper) at(label, about string, since time.Time) {
	w.start(label, since)
	w.since, w.about = since, about
}

// since is when a run has come to where it is, at its step i.
func since(p *daemon.Pipeline, i int) time.Time {
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
func (w *stepper) end(p *daemon.Pipeline, i int) {
	s := &p.Steps[i]
	about := agentWords(s)
	switch s.Status {
	case daemon.StepDone:
		w.done(w.name(p, i), stepTime(s), joined(about, outputWords(s)))
	case daemon.StepSkipped:
		w.line(w.yellow("–"), w.name(p, i), stepTime(s), joined(about, joined("skipped", text(s.Error))))
	default:
		why := text(s.Error)
		if strings.Contains(text(p.Error), why) { // it is said of the run
			why = ""
		}
		w.failed(w.name(p, i), stepTime(s), joined(about, why))
	}
}

// describe prints a step as it is.
func (w *stepper) describe(p *daemon.Pipeline, i int) {
	s := &p.Steps[i]
	gate := gateWords(p, i)
	switch {
	case s.Status == daemon.StepRunning:
		w.line("▸", w.name(p, i), stepTime(s), joined(agentWords(s), s.Description))
	case ended(s):
		w.end(p, i)
	default:
		line := fmt.Sprintf("    %-*s %9s  %s", labelWidth, w.name(p, i), "-", printable(firstNonEmpty(gate, s.Description)))
		w.printf("%s\n", w.dim(w.fit(strings.TrimRight(line, " "))))
		return
	}
	for _, said := range []string{gate, headingWords(p, i)} {
		for _, line := range w.below(printable(said)) {
			if said != "" {
				w.printf("%s\n", w.dim(line))
			}
		}
	}
}

// headingWords say that a step has left a text of which nothing could be extracted.
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

// gateWords says how the approval of a step stands.
func gateWords(p *daemon.Pipeline, i int) string {
	s := &p.Steps[i]
	switch {
	case !s.Approval:
		return ""
	case s.ApprovedAt != nil:
		return joined("approved "+stamp(s.ApprovedAt), s.Comment)
	case ended(s): // rejected, or skipped
		return s.Comment
	case p.Status == daemon.PipelineWaiting && i == p.Front():
		return "waits for approval"
	}
	return "needs approval"
}

// joined are the parts that are not empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
