package commands

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

func TestPipelineEnd(t *testing.T) {
	t.Parallel()
	branch, tree := "login", "/srv/d/worktrees/7"
	done := cmdtest.Pipeline()
	end := done.StartedAt.Add(20 * time.Second)
	done.Status, done.FinishedAt, done.Branch, done.Worktree = daemon.PipelineDone, &end, &branch, &tree
	gone := done
	gone.Worktree = nil
	for _, c := range []struct {
		p              daemon.Pipeline
		err            error
		stdout, stderr string
	}{
		{done, nil, "work tree /srv/d/worktrees/7 (branch login): commit there what you want to keep, then `understudy worktree remove p7 --data /srv/d`\n" +
			"done in 20.00 s (work 12.50 s)\nwhat came of it: `understudy pipeline show 7 --step 1 --data /srv/d`\n", ""},
		{gone, nil, "branch login\ndone in 20.00 s (work 12.50 s)\nwhat came of it: `understudy pipeline show 7 --step 1 --data /srv/d`\n", ""},
		{cmdtest.Failed(cmdtest.Pipeline(), "Step timed out after 180s"), cli.ErrSilent, "",
			"pipeline 7 failed: Step timed out after 180s (step_timeout)\nGo on with `understudy pipeline resume 7 --data /srv/d`.\n"},
	} {
		var stdout, stderr bytes.Buffer
		a := &cli.App{Getenv: cmdtest.NoEnv, DataFlag: "/srv/d", Stdout: &stdout, Stderr: &stderr}
		if err := tellRunEnd(a, a.UI(&stdout), &c.p); !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", c.p.Status, err)
		}
		if stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%s: stdout\n%sstderr\n%s", c.p.Status, &stdout, &stderr)
		}
	}
}

// What a run waits for reads as a sentence, whatever the daemon's note is. Warnings of old do not come with each command for the run.
func TestPipelineNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status             daemon.PipelineStatus
		note, field, waits string
		said               string
	}{
		{daemon.PipelinePending, "its turn: as many pipelines as may be (pipeline.max_running) are at work",
			"waits for  its turn: as many pipelines", "waits for its turn: as many", "pipeline 7 waits for its turn: as many pipelines as may be (pipeline.max_running) are at work; `"},
		{daemon.PipelineRunning, "agent 12 is being handed over (handoff 3)",
			"note       agent 12 is being handed over (handoff 3)\n", "waits: agent 12 is being", "pipeline 7 running; agent 12 is being handed over (handoff 3); `"},
		{daemon.PipelineWaiting, "", "waits for  approval: look at `", "waits for approval: look at", "pipeline 7 waits for approval: look at `"},
		{daemon.PipelineRunning, "", "", "", "pipeline 7 running: `"},
		{daemon.PipelineDone, "", "", "", "pipeline 7 done: `"},
	} {
		p := cmdtest.Pipeline()
		p.Status, p.Note, p.Warnings = c.status, c.note, []string{"Run 6 works in the same directory"}
		var shown, said bytes.Buffer
		show.DescribePipeline(&term.UI{Out: &shown}, &p)
		if c.field == "" && (strings.Contains(shown.String(), "\nwaits for") || strings.Contains(shown.String(), "\nnote")) ||
			!strings.Contains(shown.String(), c.field) {
			t.Errorf("%s, %s: shown as\n%s", c.status, c.note, &shown)
		}
		if c.waits != "" && !strings.HasPrefix(term.Waiting(show.NoteWords(&p)), c.waits) {
			t.Errorf("%s: %s", c.status, term.Waiting(show.NoteWords(&p)))
		}
		a := &cli.App{Getenv: cmdtest.NoEnv, Stdout: &said, Stderr: &said}
		if err := followPipeline(t.Context(), a, nil, p, false); err != nil || !strings.HasPrefix(said.String(), c.said) || strings.Contains(said.String(), "Run 6") {
			t.Errorf("%s: %s, %v", c.status, &said, err)
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
		equal(t, "noPipelines(&o)", noPipelines(&o), said)
	}
}
