package show

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// DescribePipeline prints a run, what was asked for, and its steps.
func DescribePipeline(u *term.UI, p *daemon.Pipeline) {
	waits, note := "", NoteWords(p)
	if rest, ok := strings.CutPrefix(note, term.WaitsForWords); ok {
		waits, note = rest, ""
	}
	branch := term.Text(p.Branch)
	if p.Worktree != nil { // it is named with that
		branch = ""
	}
	pairs := []string{
		"pipeline", fmt.Sprint(p.ID), "title", p.Title, "status", words.Of(p.Status), "waits for", waits, "note", note,
		"error", ErrorWords(p), "hint", p.Hint, "template", p.Template, "directory", u.Tilde(p.Cwd), "branch", branch,
		"work tree", TreeWords(u, p), "created", term.Stamp(&p.CreatedAt), "started", term.Stamp(p.StartedAt), "ended", term.Stamp(p.FinishedAt),
		"time", strings.TrimSuffix(RunTime(p), "-"), "work", WorkTime(p),
	}
	for _, w := range p.Warnings {
		pairs = append(pairs, "warning", w)
	}
	u.Fields(pairs...)
	if strings.TrimSpace(p.Prompt) != strings.TrimSpace(p.Title) {
		u.Printf("\n%s\n", u.Bold("request"))
		lines := strings.SplitAfter(strings.TrimSpace(p.Prompt), "\n")
		u.Block(strings.Join(lines[:min(len(lines), requestLines)], ""))
		if more := len(lines) - requestLines; more > 0 {
			u.Printf("  %s\n", u.Dim(fmt.Sprintf("… and %s more: --json has all of it", words.Count(more, "line"))))
		}
	}
	u.Printf("\n%s\n", u.Bold("steps"))
	w := NewStepper(u, p)
	for i := range p.Steps {
		w.describe(p, i)
	}
	if result := ResultWords(p); result != "" && p.Status == daemon.PipelineDone {
		u.Printf("\n%s\n", u.Hang(result))
	}
}

// requestLines is how much of what was asked for is shown.
const requestLines = 12

// NoteWords says what a run waits for, when there is something to say.
func NoteWords(p *daemon.Pipeline) string {
	switch {
	case p.Status == daemon.PipelineWaiting:
		look := ""
		if n := newestOutput(p); n > 0 {
			look = fmt.Sprintf("look at `understudy pipeline show %d --step %d`, then ", p.ID, n)
		}
		return fmt.Sprintf("%sapproval: %s`understudy pipeline approve %d` or `understudy pipeline reject %[3]d`", term.WaitsForWords, look, p.ID)
	case !p.Open():
		return ""
	case p.Status == daemon.PipelinePending:
		return term.WaitsForWords + p.Note
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

// ResultWords name the command that shows what a run has left.
func ResultWords(p *daemon.Pipeline) string {
	if n := newestOutput(p); n > 0 {
		return fmt.Sprintf("what came of it: `understudy pipeline show %d --step %d`", p.ID, n)
	}
	return ""
}

// ErrorWords say why a run has failed, with the code that the manual has it under.
func ErrorWords(p *daemon.Pipeline) string {
	if p.Error == nil || p.ErrorCode == "" {
		return term.Text(p.Error)
	}
	return fmt.Sprintf("%s (%s)", *p.Error, p.ErrorCode)
}

// TreeWords say where a run's work tree is and, when the run has ended, how to get rid of it.
func TreeWords(u *term.UI, p *daemon.Pipeline) string {
	if p.Worktree == nil {
		return ""
	}
	said := fmt.Sprintf("%s (branch %s)", u.Tilde(*p.Worktree), term.Text(p.Branch))
	if p.Open() {
		return said
	}
	if p.Status == daemon.PipelineFailed {
		said += "; unless the run is resumed"
	}
	return fmt.Sprintf("%s: commit there what is to be kept, then `git -C %s worktree remove %s`", said, proc.ShellQuote(p.Cwd), proc.ShellQuote(*p.Worktree))
}

// StepsDone says in a cell at which step a run is.
func StepsDone(p *daemon.Pipeline) string {
	return fmt.Sprintf("%d/%d", min(p.Front()+1, len(p.Steps)), len(p.Steps))
}

// RunTime is how long a run took, or has been at work by now.
func RunTime(p *daemon.Pipeline) string {
	switch {
	case p.StartedAt == nil:
		return "-"
	case p.FinishedAt != nil:
		return words.Took(p.FinishedAt.Sub(*p.StartedAt))
	}
	return words.Took(time.Since(*p.StartedAt))
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

// WorkTime is how long the steps of a run were at work together: without the time in which it waited for
// approval, or had failed. How long a step was that was left out nobody knows.
func WorkTime(p *daemon.Pipeline) string {
	work := time.Duration(0)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Status != daemon.StepSkipped {
			work += stepTime(s)
		}
	}
	if work == 0 {
		return ""
	}
	return words.Took(work)
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
	out := cmp.Or(Headline(headings().ReplaceAllString(content, "")), Headline(content))
	if m := s.LatestHandoff.Metadata; m != nil && m.WhatWasDone != nil {
		out = cmp.Or(Headline(*m.WhatWasDone), out)
	}
	return cmp.Or(words.Clip(words.Terminal(out), outputLength), "it left no words")
}

// outputLength is how many characters of what a step has left are shown beside it.
const outputLength = 160

// Headline is a text's first line that says something, without the marks of Markdown around it.
func Headline(text string) string {
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

// headings matches Markdown's, which say what comes and not what was done.
var headings = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *#{1,6} .*$`) })
