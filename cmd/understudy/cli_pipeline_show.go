package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/daemon"
)

func (a *app) pipelineShow() *cobra.Command {
	var step int
	c := a.withJSON(&cobra.Command{
		Use:               "show ID",
		Short:             "Show one run with its steps, or what one of them has left",
		Example:           "  understudy pipeline show 7\n  understudy pipeline show 7 --step 2 | less",
		Args:              exactArgs("ID"),
		ValidArgsFunction: a.completePipelines(func(*daemon.Pipeline) bool { return true }),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("pipeline", args[0])
			if err != nil {
				return err
			}
			output := c.Flags().Changed("step")
			switch {
			case output && a.json:
				return usagef("--step and --json do not go together")
			case output:
				return a.showOutput(c.Context(), id, step)
			}
			return a.showPipeline(c.Context(), id)
		},
	})
	c.Flags().IntVar(&step, "step", 0, "print what the step with this `number` has left: its agent's final message")
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

// showOutput prints what a step has left, as it is.
func (a *app) showOutput(ctx context.Context, id int64, number int) error {
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
	if s.LatestHandoff == nil {
		return fmt.Errorf("step %d of pipeline %d has left nothing: it is %s", number, id, s.Status)
	}
	content := a.safeText(s.LatestHandoff.ContentMD)
	if isTerminal(a.stdout) && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	_, err = io.WriteString(a.stdout, content)
	return err
}

// describePipeline prints a run, what was asked for, and its steps.
func describePipeline(u *ui, p *daemon.Pipeline) {
	pairs := []string{
		"pipeline", fmt.Sprint(p.ID), "title", p.Title, "status", runWords(p.Status), "waits for", waitsFor(p),
		"error", text(p.Error), "hint", p.Hint, "template", p.Template, "directory", u.tilde(p.Cwd), "branch", text(p.Branch),
		"work tree", u.tilde(text(p.Worktree)), "created", stamp(&p.CreatedAt), "started", stamp(p.StartedAt), "ended", stamp(p.FinishedAt),
		"time", strings.TrimSuffix(runTime(p), "-"),
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
}

// requestLines is how much of what was asked for is shown.
const requestLines = 12

// waitsFor says what a run waits for.
func waitsFor(p *daemon.Pipeline) string {
	switch {
	case p.Status == daemon.PipelineWaiting:
		return fmt.Sprintf("approval: `understudy pipeline approve %d` or `understudy pipeline reject %[1]d`", p.ID)
	case p.Open():
		return p.Note
	}
	return ""
}

// runWords is a run's status as people write it.
func runWords(s daemon.PipelineStatus) string { return strings.ReplaceAll(string(s), "_", " ") }

// nextStep is the index of the step that a run is at, or will be at next; len(p.Steps) when all are done.
func nextStep(p *daemon.Pipeline) int {
	for i, s := range p.Steps {
		if s.Status != daemon.StepDone && s.Status != daemon.StepSkipped {
			return i
		}
	}
	return len(p.Steps)
}

// stepsDone says in a cell at which step a run is.
func stepsDone(p *daemon.Pipeline) string {
	return fmt.Sprintf("%d/%d", min(nextStep(p)+1, len(p.Steps)), len(p.Steps))
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
	out := firstNonEmpty(headline(headings.ReplaceAllString(content, "")), headline(content))
	if m := s.LatestHandoff.Metadata; m != nil && m.WhatWasDone != nil {
		out = firstNonEmpty(headline(*m.WhatWasDone), out)
	}
	return firstNonEmpty(cut(printable(out), outputLength), "it left no words")
}

// outputLength is how many characters of what a step has left are shown beside it.
const outputLength = 160

// headings matches Markdown's, which say what comes and not what was done.
var headings = regexp.MustCompile(`(?m)^ *#{1,6} .*$`)

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
