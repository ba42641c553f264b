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

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// DescribePipeline prints a pipeline, its request and its steps.
func DescribePipeline(u *term.UI, p *daemon.Pipeline) {
	waits, note := "", NoteWords(p)
	if rest, ok := strings.CutPrefix(note, term.WaitsForWords); ok {
		waits, note = rest, ""
	}
	branch := term.Text(p.Branch)
	if p.Worktree != nil { // the line of the work tree names the branch
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

// requestLines is the number of lines that are printed of a request.
const requestLines = 12

// NoteWords says what a pipeline waits for. It returns "" if the pipeline waits for nothing.
func NoteWords(p *daemon.Pipeline) string {
	switch s := p.AwaitsWay(); {
	case p.Status == daemon.PipelineWaiting && s != nil:
		return term.WaitsForWords + "your choice: " + views.ChoiceWords(p, s)
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

// newestOutput returns the number of the last step that has an output, or 0 if no step has one.
func newestOutput(p *daemon.Pipeline) int {
	for i := range slices.Backward(p.Steps) {
		if p.Steps[i].LatestHandoff != nil {
			return i + 1
		}
	}
	return 0
}

// ResultWords names the command that shows a pipeline's last output.
func ResultWords(p *daemon.Pipeline) string {
	if n := newestOutput(p); n > 0 {
		return fmt.Sprintf("what came of it: `understudy pipeline show %d --step %d`", p.ID, n)
	}
	return ""
}

// ErrorWords says why a pipeline has failed. It adds the error's code, which docs/operating.md explains.
func ErrorWords(p *daemon.Pipeline) string {
	if p.Error == nil || p.ErrorCode == "" {
		return term.Text(p.Error)
	}
	return fmt.Sprintf("%s (%s)", *p.Error, p.ErrorCode)
}

// TreeWords says where a pipeline's work tree is. If the pipeline has ended, it also says how to remove the tree.
func TreeWords(u *term.UI, p *daemon.Pipeline) string {
	if p.Worktree == nil {
		return ""
	}
	said := fmt.Sprintf("%s (branch %s)", u.Tilde(*p.Worktree), term.Text(p.Branch))
	if p.Open() {
		return said
	}
	if p.Status == daemon.PipelineFailed {
		said += "; unless you resume the pipeline"
	}
	return fmt.Sprintf("%s: commit there what you want to keep, then `understudy worktree remove p%d`", said, p.ID)
}

// StepsDone returns the number of a pipeline's present step and the number of all steps, for a cell.
func StepsDone(p *daemon.Pipeline) string {
	return fmt.Sprintf("%d/%d", min(p.Front()+1, len(p.Steps)), len(p.Steps))
}

// RunTime returns how long a pipeline took. For an open pipeline it returns how long the pipeline has run.
func RunTime(p *daemon.Pipeline) string {
	switch {
	case p.StartedAt == nil:
		return "-"
	case p.FinishedAt != nil:
		return words.Took(p.FinishedAt.Sub(*p.StartedAt))
	}
	return words.Took(time.Since(*p.StartedAt))
}

// stepTime returns how long a step took. For a running step it returns how long the step has run.
func stepTime(s *daemon.Step) time.Duration {
	switch {
	case s.StartedAt == nil:
		return 0
	case s.FinishedAt != nil:
		return s.FinishedAt.Sub(*s.StartedAt)
	}
	return time.Since(*s.StartedAt)
}

// WorkTime returns the time of all steps of a pipeline together. It leaves out the time in which the pipeline waited for
// approval or stayed failed. It also leaves out skipped steps, because their times are not known.
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

// agentWords names the agents that worked on a step, in order. Each agent took over from the agent before it.
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

// outputWords returns a step's output as one line.
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

// outputLength is the number of characters of an output that are printed beside its step.
const outputLength = 160

// Headline returns the first line of a text that has a letter or digit. It drops a Markdown mark before that line.
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

// headings matches headings of Markdown. A heading names a topic and says nothing about the work.
var headings = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *#{1,6} .*$`) })
