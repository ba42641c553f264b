package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// Texts of any length are broken between words, with what follows indented.
func TestPipelineShowAt80Columns(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("seventeen letters ", 12))
	p := failed(approved(aRun(), long), long)
	p.Title, p.Warnings = long, []string{long}
	p.Hint = "look at what it did, at all of it, and then go on with `understudy pipeline resume 7`, or without it"
	branch, tree := "login", "/srv/d/worktrees/7"
	p.Branch, p.Worktree = &branch, &tree
	var b bytes.Buffer
	describePipeline(&ui{out: &b, terminal: true}, &p)
	narrow(t, b.String())
	for _, want := range []string{
		"\ntitle      seventeen letters seventeen letters seventeen letters seventeen\n           letters ",
		"(step_timeout)\nhint       look at what it did, at all of it, and then go on with\n           `understudy pipeline resume 7`, or without it\n",
		"\nwork tree  /srv/d/worktrees/7 (branch login); unless the run is resumed: commit\n           there what",
		"\n           `git -C /srv/app worktree remove /srv/d/worktrees/7`\n",
		"UTC: seventeen letters seventeen letters\n      seventeen ", "\nwarning    seventeen letters ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}

	b.Reset()
	problem := "broken.yaml:3: " + long
	describeTemplate(&ui{out: &b, terminal: true}, &api.Template{Name: "broken", File: "/srv/d/pipelines/broken.yaml", Problem: &problem})
	narrow(t, b.String())
	if !strings.Contains(b.String(), "letters\n      seventeen ") && !strings.Contains(b.String(), "seventeen\n      letters ") {
		t.Errorf("template:\n%s", &b)
	}
}

// What a run waits for reads as a sentence, whatever the daemon's note is.
func TestPipelineNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status             daemon.PipelineStatus
		note, field, waits string
		said               string
	}{
		{daemon.PipelinePending, "its turn: as many runs as may be (pipeline.max_running) are at work",
			"waits for  its turn: as many runs", "waits for its turn: as many", "pipeline 7 waits for its turn: as many runs as may be (pipeline.max_running) are at work; `"},
		{daemon.PipelineRunning, "agent 12 is being handed over (handoff 3)",
			"note       agent 12 is being handed over (handoff 3)\n", "waits: agent 12 is being", "pipeline 7 running; agent 12 is being handed over (handoff 3); `"},
		{daemon.PipelineWaiting, "", "waits for  approval: look at `", "waits for approval: look at", "pipeline 7 waits for approval: look at `"},
		{daemon.PipelineRunning, "", "", "", "pipeline 7 running: `"},
		{daemon.PipelineDone, "", "", "", "pipeline 7 done: `"},
	} {
		p := aRun()
		p.Status, p.Note = c.status, c.note
		var shown, said bytes.Buffer
		describePipeline(&ui{out: &shown}, &p)
		if c.field == "" && (strings.Contains(shown.String(), "\nwaits for") || strings.Contains(shown.String(), "\nnote")) ||
			!strings.Contains(shown.String(), c.field) {
			t.Errorf("%s, %s: shown as\n%s", c.status, c.note, &shown)
		}
		if c.waits != "" && !strings.HasPrefix(waiting(noteWords(&p)), c.waits) {
			t.Errorf("%s: %s", c.status, waiting(noteWords(&p)))
		}
		a := &app{getenv: noEnv, stdout: &said}
		if err := a.followPipeline(t.Context(), nil, p, false); err != nil || !strings.HasPrefix(said.String(), c.said) {
			t.Errorf("%s: %s, %v", c.status, &said, err)
		}
	}
}

// Warnings of old do not come with each command for the run.
func TestPipelineWarnsOnce(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	p := approved(aRun(), "")
	p.Warnings = []string{"Run 6 works in the same directory"}
	a := &app{getenv: noEnv, stdout: &stdout, stderr: &stderr}
	if err := a.followPipeline(t.Context(), nil, p, false); err != nil || stderr.Len() > 0 || strings.Contains(stdout.String(), "Run 6") {
		t.Errorf("%v: %s%s", err, &stdout, &stderr)
	}
}

func TestPipelineWork(t *testing.T) {
	t.Parallel()
	p := failed(approved(aRun(), ""), "no")
	if got := workTime(&p); got != "3m13s" {
		t.Errorf("two steps: %s", got)
	}
	p.Steps[1].Status = daemon.StepSkipped // when it failed is not told any more
	if got := workTime(&p); got != "12.50 s" {
		t.Errorf("without the one that was left out: %s", got)
	}
	if got := workTime(&daemon.Pipeline{Steps: make([]daemon.Step, 2)}); got != "" {
		t.Errorf("nothing was begun: %s", got)
	}
}

func TestHeadingWords(t *testing.T) {
	t.Parallel()
	p := aRun()
	p.Steps[2].Status, p.Steps[2].LatestHandoff = daemon.StepDone, &daemon.StepHandoff{ContentMD: "ok"}
	if got := headingWords(&p, 0); got != "none of the four headings: passed on as it is" {
		t.Error(got)
	}
	if got := headingWords(&p, 2); got != "none of the four headings: kept as it is" {
		t.Error(got)
	}
	p.Steps[0].LatestHandoff.Metadata, p.Steps[2].LatestHandoff.ContentMD = &daemon.Structured{}, ""
	for i := range p.Steps {
		if got := headingWords(&p, i); got != "" {
			t.Errorf("step %d: %s", i+1, got)
		}
	}
}

func TestNoPipelines(t *testing.T) {
	t.Parallel()
	for said, o := range map[string]api.ListOptions{
		"no pipelines: start one with `understudy pipeline run TEMPLATE`": {Limit: 100},
		"no pipelines with status approval":                               {Status: "approval"},
		"no pipelines of template quick_fix with status done before 3":    {Status: "done", Template: "quick_fix", Before: 3},
	} {
		if got := noPipelines(&o); got != said {
			t.Errorf("got %q, want %q", got, said)
		}
	}
}
