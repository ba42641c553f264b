package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/daemon"
)

func (a *app) pipelineShow() *cobra.Command {
	var step int
	var input bool
	c := a.withJSON(&cobra.Command{
		Use:   "show ID",
		Short: "Show one run with its steps, or what one of them has left",
		Example: `  understudy pipeline show 7
  understudy pipeline show 7 --step 2 | less
  understudy pipeline show 7 --step 2 --input`,
		Args:              exactArgs("ID"),
		ValidArgsFunction: a.completePipelines(anyPipeline),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("pipeline", args[0])
			if err != nil {
				return err
			}
			one := c.Flags().Changed("step")
			switch {
			case one && a.json:
				return usagef("--step and --json do not go together")
			case input && !one:
				return usagef("--input needs --step, which says whose prompt is meant")
			case one:
				return a.showStep(c.Context(), id, step, input)
			}
			return a.showPipeline(c.Context(), id)
		},
	})
	c.Flags().IntVar(&step, "step", 0, "print what the step with this `number` has left: its agent's final message")
	completeFlag(c, "step", cobra.NoFileCompletions)
	c.Flags().BoolVar(&input, "input", false, "with --step: print the prompt that it was given, and not what it has left")
	return c
}

func (a *app) showPipeline(ctx context.Context, id int64) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	p, err := c.Pipeline(ctx, id)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(p)
	}
	describePipeline(a.ui(a.stdout), &p)
	return nil
}

// showStep prints what a step has left or, with input, was given, as it is.
func (a *app) showStep(ctx context.Context, id int64, number int, input bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	p, err := c.Pipeline(ctx, id)
	switch {
	case err != nil:
		return err
	case number < 1 || number > len(p.Steps):
		return fmt.Errorf("pipeline %d has no step %d: they are numbered from 1 to %d", id, number, len(p.Steps))
	}
	s := &p.Steps[number-1]
	content := s.Input
	switch {
	case input && content == "":
		return fmt.Errorf("step %d of pipeline %d has been given no prompt: it is %s", number, id, s.Status)
	case input:
	case s.LatestHandoff == nil:
		return fmt.Errorf("step %d of pipeline %d has left nothing: it is %s", number, id, s.Status)
	default:
		content = s.LatestHandoff.ContentMD
	}
	content = a.safeText(content)
	if isTerminal(a.stdout) && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	_, err = io.WriteString(a.stdout, content)
	return err
}

// describePipeline prints a run, what was asked for, and its steps.
func describePipeline(u *ui, p *daemon.Pipeline) {
	waits, note := "", noteWords(p)
	if rest, ok := strings.CutPrefix(note, waitsForWords); ok {
		waits, note = rest, ""
	}
	branch := text(p.Branch)
	if p.Worktree != nil { // it is named with that
		branch = ""
	}
	pairs := []string{
		"pipeline", fmt.Sprint(p.ID), "title", p.Title, "status", runWords(p.Status), "waits for", waits, "note", note,
		"error", errorWords(p), "hint", p.Hint, "template", p.Template, "directory", u.tilde(p.Cwd), "branch", branch,
		"work tree", treeWords(u, p), "created", stamp(&p.CreatedAt), "started", stamp(p.StartedAt), "ended", stamp(p.FinishedAt),
		"time", strings.TrimSuffix(runTime(p), "-"), "work", workTime(p),
	}
	for _, w := range p.Warnings {
		pairs = append(pairs, "warning", w)
	}
	u.fields(pairs...)
	if strings.TrimSpace(p.Prompt) != strings.TrimSpace(p.Title) {
		u.printf("\n%s\n", u.bold("request"))
		lines := strings.SplitAfter(strings.TrimSpace(p.Prompt), "\n")
		u.block(strings.Join(lines[:min(len(lines), requestLines)], ""))
		if more := len(lines) - requestLines; more > 0 {
			u.printf("  %s\n", u.dim(fmt.Sprintf("… and %s more: --json has all of it", counted(more, "line"))))
		}
	}
	u.printf("\n%s\n", u.bold("steps"))
	w := newStepper(u, p)
	for i := range p.Steps {
		w.describe(p, i)
	}
	if result := resultWords(p); result != "" && p.Status == daemon.PipelineDone {
		u.printf("\n%s\n", u.hang(result))
	}
}

// requestLines is how much of what was asked for is shown.
const requestLines = 12

// noteWords says what a run waits for, when there is something to say.
func noteWords(p *daemon.Pipeline) string {
	switch {
	case p.Status == daemon.PipelineWaiting:
		look := ""
		if n := newestOutput(p); n > 0 {
			look = fmt.Sprintf("look at `understudy pipeline show %d --step %d`, then ", p.ID, n)
		}
		return fmt.Sprintf("%sapproval: %s`understudy pipeline approve %d` or `understudy pipeline reject %[3]d`", waitsForWords, look, p.ID)
	case !p.Open():
		return ""
	case p.Status == daemon.PipelinePending:
		return waitsForWords + p.Note
	}
	return p.Note
}

// newestOutput is the number of the last step that has left something; 0: none has.
func newestOutput(p *daemon.Pipeline) int {
	for i := range slices.Backward(p.Steps) {
		if p.Steps[i].LatestHandoff != nil {
			return i + 1
		}
	}
	return 0
}

// resultWords name the command that shows what a run has left.
func resultWords(p *daemon.Pipeline) string {
	if n := newestOutput(p); n > 0 {
		return fmt.Sprintf("what came of it: `understudy pipeline show %d --step %d`", p.ID, n)
	}
	return ""
}

// errorWords say why a run has failed, with the code that the manual has it under.
func errorWords(p *daemon.Pipeline) string {
	if p.Error == nil || p.ErrorCode == "" {
		return text(p.Error)
	}
	return fmt.Sprintf("%s (%s)", *p.Error, p.ErrorCode)
}

// treeWords say where a run's work tree is and, when the run has ended, how to get rid of it.
func treeWords(u *ui, p *daemon.Pipeline) string {
	if p.Worktree == nil {
		return ""
	}
	said := fmt.Sprintf("%s (branch %s)", u.tilde(*p.Worktree), text(p.Branch))
	if p.Open() {
		return said
	}
	if p.Status == daemon.PipelineFailed {
		said += "; unless the run is resumed"
	}
	return fmt.Sprintf("%s: commit there what is to be kept, then `git -C %s worktree remove %s`", said, shellQuote(p.Cwd), shellQuote(*p.Worktree))
}

// runWords is a run's status as people write it.
func runWords(s daemon.PipelineStatus) string { return strings.ReplaceAll(string(s), "_", " ") }

// stepsDone says in a cell at which step a run is.
func stepsDone(p *daemon.Pipeline) string {
	return fmt.Sprintf("%d/%d", min(p.Front()+1, len(p.Steps)), len(p.Steps))
}

// runTime is how long a run took, or has been at work by now.
func runTime(p *daemon.Pipeline) string {
	switch {
	case p.StartedAt == nil:
		return "-"
	case p.FinishedAt != nil:
		return lasted(p.FinishedAt.Sub(*p.StartedAt))
	}
	return lasted(time.Since(*p.StartedAt))
}

// stepTime is how long a step took, or has taken by now.
func stepTime(s *daemon.Step) time.Duration {
	switch {
	case s.StartedAt == nil:
		return 0
	case s.FinishedAt != nil:
		return s.FinishedAt.Sub(*s.StartedAt)
	}
	return time.Since(*s.StartedAt)
}

// workTime is how long the steps of a run were at work together: without the time in which it waited for
// approval, or had failed. How long a step was that was left out nobody knows.
func workTime(p *daemon.Pipeline) string {
	work := time.Duration(0)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Status != daemon.StepSkipped {
			work += stepTime(s)
		}
	}
	if work == 0 {
		return ""
	}
	return lasted(work)
}

// lasted is a measured time that may be long.
func lasted(d time.Duration) string {
	if d < 2*time.Minute {
		return seconds(d)
	}
	whole := d.Round(time.Second)
	if whole < time.Hour {
		return fmt.Sprintf("%dm%02ds", whole/time.Minute, whole%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", whole/time.Hour, whole%time.Hour/time.Minute)
}

// agentWords names those that worked on a step, each followed by the one that took over from it.
func agentWords(s *daemon.Step) string {
	if len(s.AgentIDs) == 0 {
		return ""
	}
	var ids []string
	for _, id := range s.AgentIDs {
		ids = append(ids, fmt.Sprint(id))
	}
	return "agent " + strings.Join(ids, " → ")
}

// outputWords is what a step has left, in a line.
func outputWords(s *daemon.Step) string {
	if s.LatestHandoff == nil {
		return ""
	}
	content := s.LatestHandoff.ContentMD
	out := firstNonEmpty(headline(headings().ReplaceAllString(content, "")), headline(content))
	if m := s.LatestHandoff.Metadata; m != nil && m.WhatWasDone != nil {
		out = firstNonEmpty(headline(*m.WhatWasDone), out)
	}
	return firstNonEmpty(cut(printable(out), outputLength), "it left no words")
}

// outputLength is how many characters of what a step has left are shown beside it.
const outputLength = 160

// headings matches Markdown's, which say what comes and not what was done.
var headings = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *#{1,6} .*$`) })

// headline is a text's first line that says something, without the marks of Markdown around it.
func headline(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			continue
		}
		if mark, rest, ok := strings.Cut(line, " "); ok && (strings.Trim(mark, "#") == "" || mark == "-" || mark == "*" || mark == ">") {
			line = strings.TrimSpace(rest)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return line
		}
	}
	return ""
}
