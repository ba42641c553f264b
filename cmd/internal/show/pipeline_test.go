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
	if want := warning + `  … pending                             waits for its turn: 4 runs are at work, as many as may be
  … 1/3 designer                           agent 12
  … 1/3 designer                           agent 12 → 15
` + ended + `  … 2/3 developer                          waits for approval: look at ` + "`understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`" + `
  … 2/3 developer                          agent 16
` + verdict; pipe.String() != want {
		t.Errorf("in a pipe:\n%s\nwant:\n%s", pipe.String(), want)
	}

	var screen bytes.Buffer
	tale(t, &term.UI{Out: &screen, Terminal: true})
	if got := cmdtest.Seen(screen.String()); got != warning+ended+verdict {
		t.Errorf("on a terminal:\n%s\nwant:\n%s", got, warning+ended+verdict)
	}
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
	if want := "  … 2/3 developer                          agent 16\n  ✗ 2/3 developer                   3 min  agent 16\n"; b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
}

func TestPipelineShow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := cmdtest.Failed(cmdtest.Approved(cmdtest.Pipeline(), "without the\nold clients"), "Step timed out after 180s")
	p.Warnings = []string{"Run 6 works in the same directory"}
	DescribePipeline(&term.UI{Out: &b}, &p)
	if want := `pipeline   7
title      Mend the login
status     failed
error      Step timed out after 180s (step_timeout)
hint       go on with ` + "`understudy pipeline resume 7`" + `
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
`; b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}

	b.Reset()
	waiting := cmdtest.Pipeline()
	waiting.Prompt = strings.Repeat("more\n", 2*requestLines)
	DescribePipeline(&term.UI{Out: &b}, &waiting)
	for _, want := range []string{
		"\nwaits for  approval: look at `understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`\n",
		"  … and 12 lines more: --json has all of it\n", "2/3 developer                       -  waits for approval\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}

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
	if got := StepsDone(&p); got != "2/3" {
		t.Errorf("waiting: %s", got)
	}
	for i := range p.Steps {
		p.Steps[i].Status = daemon.StepDone
	}
	p.Steps[1].Status = daemon.StepSkipped
	if got := StepsDone(&p); got != "3/3" {
		t.Errorf("done: %s", got)
	}
	p.StartedAt = nil
	if got := RunTime(&p); got != "-" {
		t.Errorf("not started: %s", got)
	}
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
		if got := Headline(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
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
		if got := outputWords(&daemon.Step{LatestHandoff: c.h}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
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
	if want := `full
      From a wish[2J to a change
      designer → [approval] → developer → qa
broken
      /srv/d/pipelines/broken.yaml:3: unknown key stpes
old
      qa
      /srv/d/pipelines/old.yaml:1: not YAML
      until you mend the file, pipelines are made from its last good version
`; b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	if got := ProblemIn("/srv/x.yaml", "open x.yaml: permission denied"); got != "open x.yaml: permission denied" {
		t.Error(got)
	}
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
	if got := cmdtest.Seen(screen.String()); !strings.Contains(got, " running ") {
		t.Errorf("while the run ends: %q", got)
	}
	done.Status = daemon.PipelineDone
	if !w.Look(&done) {
		t.Error("the run has ended, and it is watched on")
	}
	if got := cmdtest.Seen(screen.String()); got != "" {
		t.Errorf("left on the screen: %q", got)
	}
}
