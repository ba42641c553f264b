package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// aRun is one of three steps: the first is done, the second waits for approval, the third follows.
func aRun() daemon.Pipeline {
	created := time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *time.Time {
		t := created.Add(after)
		return &t
	}
	return daemon.Pipeline{
		ID: 7, Title: "Mend the login", Template: "full_feature", Prompt: "Mend the login\nIt times out.\n", Cwd: "/srv/app",
		Status: daemon.PipelineWaiting, CreatedAt: created, UpdatedAt: *at(time.Minute), StartedAt: at(time.Second),
		Steps: []daemon.Step{
			{
				ID: 1, AgentName: "designer", Status: daemon.StepDone, AgentIDs: []int64{12, 15}, StartedAt: at(time.Second), FinishedAt: at(13500 * time.Millisecond),
				LatestHandoff: &daemon.StepHandoff{ContentMD: "## What was done\n\n- Drew the new form\x1b[2J\n"},
			},
			{ID: 2, AgentName: "developer", OrderIndex: 1, Status: daemon.StepPending, Approval: true},
			{ID: 3, AgentName: "senior-reviewer-ada-1", OrderIndex: 2, Status: daemon.StepPending, Description: "looks at\x1b[31m it"},
		},
	}
}

// approved has the run go on with its second step.
func approved(p daemon.Pipeline, comment string) daemon.Pipeline {
	began := p.CreatedAt.Add(2 * time.Minute)
	p.Status = daemon.PipelineRunning
	p.Steps = append([]daemon.Step(nil), p.Steps...)
	s := &p.Steps[1]
	s.Status, s.ApprovedAt, s.StartedAt, s.Comment, s.AgentIDs = daemon.StepRunning, &began, &began, comment, []int64{16}
	return p
}

// failed ends the run with its second step.
func failed(p daemon.Pipeline, why string) daemon.Pipeline {
	end := p.CreatedAt.Add(5 * time.Minute)
	p.Status, p.Error, p.ErrorCode, p.FinishedAt = daemon.PipelineFailed, &why, "step_timeout", &end
	p.Hint = "go on with `understudy pipeline resume 7`"
	p.Steps = append([]daemon.Step(nil), p.Steps...)
	s := &p.Steps[1]
	s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &why, &end
	return p
}

// tale is a run from its start to its end, as somebody sees it who waits.
func tale(u *ui) {
	p := aRun()
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
	w := newStepper(u, &pending)
	for _, p := range []daemon.Pipeline{pending, running, running, handed, p, approved(p, ""), failed(approved(p, ""), "Step timed out after 180s")} {
		w.look(&p)
		w.waits = w.waits.Add(-2 * patience) // it has been so for long
		w.draw()
		w.draw()
	}
}

func TestPipelineProgress(t *testing.T) {
	t.Parallel()
	const warning = "warning: Run 6 works in the same[2J directory\n"
	const ended = `  ✓ 1/3 designer                12.50 s  agent 12 → 15: Drew the new form[2J
`
	const verdict = `  ✗ 2/3 developer                 3m00s  agent 16
`
	var pipe bytes.Buffer
	tale(&ui{out: &pipe})
	if want := warning + `  … pending                           waits for its turn: 4 runs are at work, as many as may be
  … 1/3 designer                         agent 12
  … 1/3 designer                         agent 12 → 15
` + ended + `  … 2/3 developer                        waits for approval: look at ` + "`understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`" + `
  … 2/3 developer                        agent 16
` + verdict; pipe.String() != want {
		t.Errorf("in a pipe:\n%s\nwant:\n%s", pipe.String(), want)
	}

	var screen bytes.Buffer
	tale(&ui{out: &screen, terminal: true})
	if got := seen(screen.String()); got != warning+ended+verdict {
		t.Errorf("on a terminal:\n%s\nwant:\n%s", got, warning+ended+verdict)
	}
	for _, drawn := range []string{
		`[⠋-⠿] pending +\d\S* ?s?\n +waits for its turn: 4 runs are at work`, `[⠋-⠿] 1/3 designer +\d+h\d+m  agent 12\r`, `[⠋-⠿] 1/3 designer +\d+h\d+m  agent 12 → 15\r`,
		"[⠋-⠿] 2/3 developer +\\d+h\\d+m\n +waits for approval: look at `understudy pipeline show 7 --step 1`, then\n +`understudy pipeline approve 7` or `understudy pipeline reject 7`", `[⠋-⠿] 2/3 developer +\d+h\d+m  agent 16\r`,
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
	p := approved(aRun(), "")
	w := newStepper(&ui{out: &b}, &p)
	for _, p := range []daemon.Pipeline{p, failed(p, "no"), p, failed(p, "no")} { // it was resumed while nobody looked
		w.look(&p)
	}
	if want := "  … 2/3 developer                        agent 16\n  ✗ 2/3 developer                 3m00s  agent 16\n"; b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
}

func TestPipelineEnd(t *testing.T) {
	t.Parallel()
	branch, tree := "login", "/srv/d/worktrees/7"
	done := aRun()
	end := done.StartedAt.Add(20 * time.Second)
	done.Status, done.FinishedAt, done.Branch, done.Worktree = daemon.PipelineDone, &end, &branch, &tree
	gone := done
	gone.Worktree = nil
	for _, c := range []struct {
		p              daemon.Pipeline
		err            error
		stdout, stderr string
	}{
		{done, nil, "work tree /srv/d/worktrees/7 (branch login): commit there what is to be kept, then `git -C /srv/app worktree remove /srv/d/worktrees/7`\n" +
			"done in 20.00 s (work 12.50 s)\nwhat came of it: `understudy pipeline show 7 --step 1 --data /srv/d`\n", ""},
		{gone, nil, "branch login\ndone in 20.00 s (work 12.50 s)\nwhat came of it: `understudy pipeline show 7 --step 1 --data /srv/d`\n", ""},
		{failed(aRun(), "Step timed out after 180s"), errSilent, "",
			"pipeline 7 failed: Step timed out after 180s (step_timeout)\nGo on with `understudy pipeline resume 7 --data /srv/d`.\n"},
	} {
		var stdout, stderr bytes.Buffer
		a := &app{getenv: noEnv, dataFlag: "/srv/d", stdout: &stdout, stderr: &stderr}
		if err := a.tellRunEnd(a.ui(&stdout), &c.p); !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", c.p.Status, err)
		}
		if stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%s: stdout\n%sstderr\n%s", c.p.Status, &stdout, &stderr)
		}
	}
}

func TestPipelineShow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := failed(approved(aRun(), "without the\nold clients"), "Step timed out after 180s")
	p.Warnings = []string{"Run 6 works in the same directory"}
	describePipeline(&ui{out: &b}, &p)
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
time       4m59s
work       3m13s
warning    Run 6 works in the same directory

request
  │ Mend the login
  │ It times out.

steps
  ✓ 1/3 designer                12.50 s  agent 12 → 15: Drew the new form[2J
      none of the four headings: passed on as it is
  ✗ 2/3 developer                 3m00s  agent 16
      approved 2026-07-01 09:02:00 UTC: without the old clients
    3/3 senior-reviewer-ada-1         -  looks at[31m it
`; b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}

	b.Reset()
	waiting := aRun()
	waiting.Prompt = strings.Repeat("more\n", 2*requestLines)
	describePipeline(&ui{out: &b}, &waiting)
	for _, want := range []string{
		"\nwaits for  approval: look at `understudy pipeline show 7 --step 1`, then `understudy pipeline approve 7` or `understudy pipeline reject 7`\n",
		"  … and 12 lines more: --json has all of it\n", "2/3 developer                     -  waits for approval\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}

	// On a terminal of 80 columns nothing is wrapped but texts, between words.
	b.Reset()
	p.Steps[2].Description = strings.Repeat("long ", 20)
	p.Steps[0].LatestHandoff.ContentMD = strings.Repeat("long ", 20)
	describePipeline(&ui{out: &b, terminal: true}, &p)
	narrow(t, b.String())
}

// narrow fails for lines that 80 columns do not hold.
func narrow(t *testing.T, printed string) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("line of %d: %s", utf8.RuneCountInString(line), line)
		}
	}
}

func TestPipelineListCells(t *testing.T) {
	t.Parallel()
	p := aRun()
	if got := stepsDone(&p); got != "2/3" {
		t.Errorf("waiting: %s", got)
	}
	for i := range p.Steps {
		p.Steps[i].Status = daemon.StepDone
	}
	p.Steps[1].Status = daemon.StepSkipped
	if got := stepsDone(&p); got != "3/3" {
		t.Errorf("done: %s", got)
	}
	p.StartedAt = nil
	if got := runTime(&p); got != "-" {
		t.Errorf("not started: %s", got)
	}
	for d, want := range map[time.Duration]string{
		1500 * time.Millisecond: "1.50 s", 119 * time.Second: "119.00 s", 125400 * time.Millisecond: "2m05s",
		time.Hour - 400*time.Millisecond: "1h00m", 26*time.Hour + 61*time.Second: "26h01m", -time.Second: "0.00 s",
	} {
		if got := lasted(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
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
		if got := headline(in); got != want {
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
		{&daemon.StepHandoff{ContentMD: "# Handoff\n", Metadata: &daemon.Structured{WhatWasDone: &done}}, done},
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
	u := &ui{out: &b}
	describeTemplate(u, &api.Template{
		Name: "full", Description: "From a wish\x1b[2J to a change",
		Steps: []api.TemplateStep{{Agent: "designer"}, {Agent: "developer", Approval: true}, {Agent: "qa"}},
	})
	describeTemplate(u, &api.Template{Name: "broken", File: "/srv/d/pipelines/broken.yaml", Problem: &problem})
	describeTemplate(u, &api.Template{Name: "old", File: "/srv/d/pipelines/old.yaml", Problem: &other, Steps: []api.TemplateStep{{Agent: "qa"}}})
	if want := `full
      From a wish[2J to a change
      designer → [approval] → developer → qa
broken
      /srv/d/pipelines/broken.yaml:3: unknown key stpes
old
      qa
      /srv/d/pipelines/old.yaml:1: not YAML
      until that is mended, runs are made from what it last held
`; b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	if got := problemIn("/srv/x.yaml", "open x.yaml: permission denied"); got != "open x.yaml: permission denied" {
		t.Error(got)
	}
}

// A step that was begun again counts from then, and what is drawn while the run ends is taken back.
func TestPipelineProgressRedrawn(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	p := approved(aRun(), "")
	w := newStepper(&ui{out: &screen, terminal: true}, &p)
	w.look(&p)
	again := approved(aRun(), "")
	began := time.Now()
	again.Steps[1].StartedAt, again.Steps[1].AgentIDs = &began, []int64{16, 17}
	w.look(&again)
	if w.since != began || w.about != "agent 16 → 17" {
		t.Errorf("shown since %s, %s", w.since, w.about)
	}
	done := approved(aRun(), "")
	for i := range done.Steps {
		done.Steps[i].Status, done.Steps[i].FinishedAt = daemon.StepSkipped, done.StartedAt
		w.told[done.Steps[i].ID] = daemon.StepSkipped
	}
	w.look(&done)
	if got := seen(screen.String()); !strings.Contains(got, " running ") {
		t.Errorf("while the run ends: %q", got)
	}
	done.Status = daemon.PipelineDone
	if !w.look(&done) {
		t.Error("the run has ended, and it is watched on")
	}
	if got := seen(screen.String()); got != "" {
		t.Errorf("left on the screen: %q", got)
	}
}
