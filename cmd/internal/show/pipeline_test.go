package show

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// tale is a run from its start to its end, as somebody sees it who waits.
func tale(t *testing.T, u *term.UI) {
	p := cmdtest.Pipeline()
	running := p
	running.Status, running.Steps = daemon.PipelineRunning, append([]daemon.Step(nil), p.Steps...)
	running.Steps[0].Status, running.Steps[0].FinishedAt, running.Steps[0].LatestHandoff = daemon.StepRunning, nil, nil
	running.Steps[0].AgentIDs = []int64{12}
	pending := running
	pending.Status, pending.Note = daemon.PipelinePending, "its turn: 4 runs are at work, as many as may be"
	pending.Steps = append([]daemon.Step(nil), running.Steps...)
	pending.Steps[0].Status, pending.Steps[0].AgentIDs = daemon.StepPending, nil
	pending.Warnings = []string{"Run 6 works in the same\x1b[2J directory"}
	handed := running
	handed.Steps = append([]daemon.Step(nil), running.Steps...)
	handed.Steps[0].AgentIDs = []int64{12, 15}
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Until(p.UpdatedAt) + 48*time.Hour) // the bubble's clock begins before the run does
		w := NewStepper(u, &pending)
		for _, p := range []daemon.Pipeline{pending, running, running, handed, p, cmdtest.Approved(p, ""), cmdtest.Failed(cmdtest.Approved(p, ""), "Step timed out after 180s")} {
			w.Look(&p)
			time.Sleep(time.Minute) // longer than a pipe waits before it tells
			w.Draw()
			w.Draw()
		}
	})
}

func TestPipelineProgress(t *testing.T) {
	t.Parallel()
	const warning = "warning: Run 6 works in the same[2J directory\n"
	const ended = `  ✓ 1/3 designer                  12.50 s  agent 12 → 15: Drew the new form[2J
`
	const verdict = `  ✗ 2/3 developer                   3 min  agent 16
`
	var pipe bytes.Buffer
	tale(t, &term.UI{Out: &pipe})
	wantText(t, pipe.String(), warning+`  … pending                             waits for its turn: 4 runs are at work, as many as may be
  … 1/3 designer                           agent 12
  … 1/3 designer                           agent 12 → 15
`+ended+`  … 2/3 developer                          waits for approval: look at `+"`understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`"+`
  … 2/3 developer                          agent 16
`+verdict)

	var screen bytes.Buffer
	tale(t, &term.UI{Out: &screen, Terminal: true})
	equal(t, "on a terminal", cmdtest.Seen(screen.String()), warning+ended+verdict)
	for _, drawn := range []string{
		`[⠋-⠿] pending +\d[\w. ]*\n +waits for its turn: 4 runs are at work`, `[⠋-⠿] 1/3 designer +\d+ h \d+ min  agent 12\r`, `[⠋-⠿] 1/3 designer +\d+ h \d+ min  agent 12 → 15\r`,
		"[⠋-⠿] 2/3 developer +\\d+ h \\d+ min\n +waits for approval: look at `understudy pipeline show 7 --step 1`, then\n +`understudy pipeline approve 7` or `understudy pipeline reject 7`", `[⠋-⠿] 2/3 developer +\d+ h \d+ min  agent 16\r`,
	} {
		if !regexp.MustCompile(drawn).MatchString(screen.String()) {
			t.Errorf("%q was not drawn in %q", drawn, screen.String())
		}
	}
}

// What had ended before is not told again to somebody who looks on from there.
func TestPipelineProgressAfterApproval(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := cmdtest.Approved(cmdtest.Pipeline(), "")
	w := NewStepper(&term.UI{Out: &b}, &p)
	for _, p := range []daemon.Pipeline{p, cmdtest.Failed(p, "no"), p, cmdtest.Failed(p, "no")} { // it was resumed while nobody looked
		w.Look(&p)
	}
	wantText(t, b.String(), "  … 2/3 developer                          agent 16\n  ✗ 2/3 developer                   3 min  agent 16\n")
}

func TestPipelineShow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := cmdtest.Failed(cmdtest.Approved(cmdtest.Pipeline(), "without the\nold clients"), "Step timed out after 180s")
	p.Warnings = []string{"Run 6 works in the same directory"}
	DescribePipeline(&term.UI{Out: &b}, &p)
	wantText(t, b.String(), `pipeline   7
title      Mend the login
status     failed
error      Step timed out after 180s (step_timeout)
hint       go on with `+"`understudy pipeline resume 7`"+`
template   full_feature
directory  /srv/app
created    2026-07-01 09:00:00 UTC
started    2026-07-01 09:00:01 UTC
ended      2026-07-01 09:05:00 UTC
time       4 min 59 s
work       3 min 13 s
warning    Run 6 works in the same directory

request
  │ Mend the login
  │ It times out.

steps
  ✓ 1/3 designer                  12.50 s  agent 12 → 15: Drew the new form[2J
      none of the four headings: passed on as it is
  ✗ 2/3 developer                   3 min  agent 16
      approved 2026-07-01 09:02:00 UTC: without the old clients
    3/3 senior-reviewer-ada-1           -  looks at[31m it
`)

	b.Reset()
	waiting := cmdtest.Pipeline()
	waiting.Prompt = strings.Repeat("more\n", 2*requestLines)
	DescribePipeline(&term.UI{Out: &b}, &waiting)
	wantIn(t, b.String(),
		"\nwaits for  approval: look at `understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`\n",
		"  … and 12 lines more: --json has all of it\n", "2/3 developer                       -  waits for approval\n",
	)

	// On a terminal of 80 columns nothing is wrapped but texts, between words.
	b.Reset()
	p.Steps[2].Description = strings.Repeat("long ", 20)
	p.Steps[0].LatestHandoff.ContentMD = strings.Repeat("long ", 20)
	DescribePipeline(&term.UI{Out: &b, Terminal: true}, &p)
	cmdtest.WantNarrow(t, b.String())
}

func TestPipelineListCells(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	wantText(t, StepsDone(&p), "2/3")
	for i := range p.Steps {
		p.Steps[i].Status = daemon.StepDone
	}
	p.Steps[1].Status = daemon.StepSkipped
	wantText(t, StepsDone(&p), "3/3")
	p.StartedAt = nil
	wantText(t, RunTime(&p), "-")
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                   "",
		"\n \nThe login page times out\nnow": "The login page times out",
		"# Fix it":                           "Fix it",
		"---\n\n- one\n- two":                "one",
		"```go\nx := 1\n```":                 "x := 1",
		"`merge` loses rows":                 "`merge` loses rows",
		"*very* urgent":                      "*very* urgent",
		"…\n!":                               "",
		"* ünïcode":                          "ünïcode",
		"42":                                 "42",
		"#42 is back":                        "#42 is back",
	} {
		equal(t, in, Headline(in), want)
	}
}

func TestOutputWords(t *testing.T) {
	t.Parallel()
	done := "Merged the two lists"
	for _, c := range []struct {
		h    *daemon.StepHandoff
		want string
	}{
		{nil, ""},
		{&daemon.StepHandoff{}, "it left no words"},
		{&daemon.StepHandoff{ContentMD: "# Handoff\n\n## Done\n"}, "Handoff"},
		{&daemon.StepHandoff{ContentMD: "# Handoff\n", Metadata: &daemon.Metadata{WhatWasDone: &done}}, done},
		{&daemon.StepHandoff{ContentMD: strings.Repeat("x", 1000)}, strings.Repeat("x", outputLength-1) + "…"},
	} {
		equal(t, "outputWords(&daemon.Step{LatestHandoff: c.h})", outputWords(&daemon.Step{LatestHandoff: c.h}), c.want)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	problem, other := "broken.yaml:3: unknown key stpes", "old.yaml:1: not YAML"
	var b bytes.Buffer
	u := &term.UI{Out: &b}
	DescribeTemplate(u, &api.Template{
		Name: "full", Description: "From a wish\x1b[2J to a change",
		Steps: []api.TemplateStep{{Agent: "designer"}, {Agent: "developer", Approval: true}, {Agent: "qa"}},
	})
	DescribeTemplate(u, &api.Template{Name: "broken", File: "/srv/d/pipelines/broken.yaml", Problem: &problem})
	DescribeTemplate(u, &api.Template{Name: "old", File: "/srv/d/pipelines/old.yaml", Problem: &other, Steps: []api.TemplateStep{{Agent: "qa"}}})
	wantText(t, b.String(), `full
      From a wish[2J to a change
      designer → [approval] → developer → qa
broken
      /srv/d/pipelines/broken.yaml:3: unknown key stpes
old
      qa
      /srv/d/pipelines/old.yaml:1: not YAML
      until you mend the file, pipelines are made from its last good version
`)
	wantText(t, ProblemIn("/srv/x.yaml", "open x.yaml: permission denied"), "open x.yaml: permission denied")
}

// A step that was begun again counts from then, and what is drawn while the run ends is taken back.
func TestPipelineProgressRedrawn(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	p := cmdtest.Approved(cmdtest.Pipeline(), "")
	w := NewStepper(&term.UI{Out: &screen, Terminal: true}, &p)
	w.Look(&p)
	again := cmdtest.Approved(cmdtest.Pipeline(), "")
	began := time.Now()
	again.Steps[1].StartedAt, again.Steps[1].AgentIDs = &began, []int64{16, 17}
	w.Look(&again)
	if w.Since != began || w.About != "agent 16 → 17" {
		t.Errorf("shown since %s, %s", w.Since, w.About)
	}
	done := cmdtest.Approved(cmdtest.Pipeline(), "")
	for i := range done.Steps {
		done.Steps[i].Status, done.Steps[i].FinishedAt = daemon.StepSkipped, done.StartedAt
		w.told[done.Steps[i].ID] = daemon.StepSkipped
	}
	w.Look(&done)
	holds(t, "while the run ends", cmdtest.Seen(screen.String()), " running ")
	done.Status = daemon.PipelineDone
	if !w.Look(&done) {
		t.Error("the run has ended, and it is watched on")
	}
	wantText(t, cmdtest.Seen(screen.String()), "")
}

// Texts of any length are broken between words, with what follows indented.
func TestPipelineShowAt80Columns(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("seventeen letters ", 12))
	p := cmdtest.Failed(cmdtest.Approved(cmdtest.Pipeline(), long), long)
	p.Title, p.Warnings = long, []string{long}
	p.Hint = "look at what it did, at all of it, and then go on with `understudy pipeline resume 7`, or without it"
	branch, tree := "login", "/srv/d/worktrees/7"
	p.Branch, p.Worktree = &branch, &tree
	var b bytes.Buffer
	DescribePipeline(&term.UI{Out: &b, Terminal: true}, &p)
	cmdtest.WantNarrow(t, b.String())
	wantIn(t, b.String(),
		"\ntitle      seventeen letters seventeen letters seventeen letters seventeen\n           letters ",
		"(step_timeout)\nhint       look at what it did, at all of it, and then go on with\n           `understudy pipeline resume 7`, or without it\n",
		"\nwork tree  /srv/d/worktrees/7 (branch login); unless you resume the pipeline:\n           commit there what you want to keep, then\n           `understudy worktree remove p7`\n",
		"UTC: seventeen letters seventeen letters\n      seventeen ", "\nwarning    seventeen letters ",
	)

	b.Reset()
	problem := "broken.yaml:3: " + long
	DescribeTemplate(&term.UI{Out: &b, Terminal: true}, &api.Template{Name: "broken", File: "/srv/d/pipelines/broken.yaml", Problem: &problem})
	cmdtest.WantNarrow(t, b.String())
	if !strings.Contains(b.String(), "letters\n      seventeen ") && !strings.Contains(b.String(), "seventeen\n      letters ") {
		t.Errorf("template:\n%s", &b)
	}
}

func TestPipelineWork(t *testing.T) {
	t.Parallel()
	p := cmdtest.Failed(cmdtest.Approved(cmdtest.Pipeline(), ""), "no")
	wantText(t, WorkTime(&p), "3 min 13 s")
	p.Steps[1].Status = daemon.StepSkipped // when it failed is not told any more
	wantText(t, WorkTime(&p), "12.50 s")
	wantText(t, WorkTime(&daemon.Pipeline{Steps: make([]daemon.Step, 2)}), "")
}

func TestHeadingWords(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	p.Steps[2].Status, p.Steps[2].LatestHandoff = daemon.StepDone, &daemon.StepHandoff{ContentMD: "ok"}
	wantText(t, headingWords(&p, 0), "none of the four headings: passed on as it is")
	wantText(t, headingWords(&p, 2), "none of the four headings: kept as it is")
	p.Steps[0].LatestHandoff.Metadata, p.Steps[2].LatestHandoff.ContentMD = &daemon.Metadata{}, ""
	for i := range p.Steps {
		wantText(t, headingWords(&p, i), "")
	}
}

func TestPipelineShowNamesRuntimeAndModel(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	p.Steps[0].Runtime, p.Steps[0].Model = "codex", "gpt-5"
	p.Steps[1].Runtime = "claude"
	p.Steps[2].Model = "opus\x1b[2J"
	var b bytes.Buffer
	DescribePipeline(&term.UI{Out: &b}, &p)
	wantIn(t, b.String(), "\n      runs on codex with gpt-5\n", "\n      runs on claude\n", "\n      runs with opus[2J\n")
}

// TestUndecidedPipelineShowsWhatWasWritten: it says why a person must choose, what the step has written, and with which commands.
func TestUndecidedPipelineShowsWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	s := &p.Steps[0]
	s.Number, s.Next, s.Undecided = 1, []personas.Rule{{When: personas.Condition{Heading: "Verdict", Contains: "not ready"}, Goto: 1}}, daemon.UndecidedUnclear
	s.LatestHandoff = &daemon.StepHandoff{ContentMD: "## Verdict\n\nready | not \x1b[2Jready\n"}
	var out bytes.Buffer
	DescribePipeline(&term.UI{Out: &out}, &p)
	wantIn(t, strings.Join(strings.Fields(out.String()), " "), "your choice: it is not clear what step 1 (designer) means under Verdict", "ready | not", "pipeline approve 7", "--goto 1", "pipeline reject 7")
	if strings.Contains(out.String(), "\x1b[2J") {
		t.Error("what the step wrote commands the terminal")
	}
}
