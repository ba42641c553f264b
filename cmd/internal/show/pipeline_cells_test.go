package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

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
	for _, want := range []string{
		"\ntitle      seventeen letters seventeen letters seventeen letters seventeen\n           letters ",
		"(step_timeout)\nhint       look at what it did, at all of it, and then go on with\n           `understudy pipeline resume 7`, or without it\n",
		"\nwork tree  /srv/d/worktrees/7 (branch login); unless you resume the pipeline:\n           commit there what you want to keep, then\n           `understudy worktree remove p7`\n",
		"UTC: seventeen letters seventeen letters\n      seventeen ", "\nwarning    seventeen letters ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}

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
	if got := WorkTime(&p); got != "3 min 13 s" {
		t.Errorf("two steps: %s", got)
	}
	p.Steps[1].Status = daemon.StepSkipped // when it failed is not told any more
	if got := WorkTime(&p); got != "12.50 s" {
		t.Errorf("without the one that was left out: %s", got)
	}
	if got := WorkTime(&daemon.Pipeline{Steps: make([]daemon.Step, 2)}); got != "" {
		t.Errorf("nothing was begun: %s", got)
	}
}

func TestHeadingWords(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	p.Steps[2].Status, p.Steps[2].LatestHandoff = daemon.StepDone, &daemon.StepHandoff{ContentMD: "ok"}
	if got := headingWords(&p, 0); got != "none of the four headings: passed on as it is" {
		t.Error(got)
	}
	if got := headingWords(&p, 2); got != "none of the four headings: kept as it is" {
		t.Error(got)
	}
	p.Steps[0].LatestHandoff.Metadata, p.Steps[2].LatestHandoff.ContentMD = &daemon.Metadata{}, ""
	for i := range p.Steps {
		if got := headingWords(&p, i); got != "" {
			t.Errorf("step %d: %s", i+1, got)
		}
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
	for _, want := range []string{"\n      runs on codex with gpt-5\n", "\n      runs on claude\n", "\n      runs with opus[2J\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}
