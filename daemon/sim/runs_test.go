package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// templates are what runs are made from, by name.
var templates = map[string]string{
	"one":   "steps:\n- agent: developer-kim-2\n",
	"two":   "steps:\n- agent: developer\n  timeout: 100\n- agent: developer-ada-3\n  approval: true\n  remind_after: 40\n",
	"three": "steps:\n- agent: developer-con-1\n  approval: true\n- agent: developer-kim-2\n  prompt: Look at it from the other side.\n- agent: developer-ada-3\n",
	"four":  "steps:\n- agent: developer-con-1\n- agent: developer-kim-2\n  timeout: 40\n- agent: developer-ada-3\n- agent: developer\n  approval: true\n",
}

// templateNames are in an order, so that a seed draws the same one each time.
var templateNames = []string{"one", "two", "three", "four"}

func writeTemplates(folder string) error {
	for name, steps := range templates {
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte("name: "+name+"\n"+steps), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// runs are the runs as they are stored.
func (w *world) runs() []daemon.Pipeline {
	list, err := w.lent.Pipelines(ctx(), daemon.PipelineFilter{Limit: 1000})
	if err != nil {
		w.fail("%v", err)
	}
	return list
}

// direct is somebody who has runs made on a host, and sees to them as long as things go wrong.
func (p *person) direct(h *host) {
	var mine []int64
	for n := 1 + p.w.rng.IntN(3); n > 0; n-- {
		p.wait("thinks of a run", 0, 15*time.Second)
		if id := p.create(h); id != 0 {
			mine = append(mine, id)
		}
	}
	for p.faulty() {
		p.wait("looks at the runs", time.Second, 12*time.Second)
		open := false
		for _, run := range p.w.runs() {
			if slices.Contains(mine, run.ID) {
				p.see(&run)
				open = open || run.Status != daemon.PipelineDone
			}
		}
		if !open {
			return
		}
	}
}

// create makes a run; 0: that was refused.
func (p *person) create(h *host) (id int64) {
	in := daemon.NewPipeline{Template: templateNames[p.w.rng.IntN(len(templateNames))], Prompt: p.words(), Cwd: h.cwd}
	in.Title = fmt.Sprintf("Run %d of %s", p.said, p.name)
	if p.w.rng.IntN(4) == 0 {
		in.Branch = fmt.Sprintf("branch-%d", p.w.rng.IntN(3))
	}
	// One whose answer was lost has been made all the same.
	_ = p.ask(h, "make a run of "+in.Template, func(ctx context.Context, d *daemon.Daemon) error {
		run, err := d.CreatePipeline(ctx, in)
		id = run.ID
		return err
	})
	p.w.plan.count("runs")
	return id
}

// see is what somebody does about a run when they look at it.
func (p *person) see(run *daemon.Pipeline) {
	n := p.w.rng.IntN(100)
	switch {
	case run.Status == daemon.PipelineWaiting && n < 60:
		p.approve(run, p.somewhere())
	case run.Status == daemon.PipelineWaiting && n < 75:
		p.command("reject", run, p.somewhere(), func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.RejectPipeline(ctx, run.ID, daemon.Decision{Comment: "not so"})
			return err
		})
	case run.Open() && n < 84 && n >= 80:
		p.command("abort", run, p.somewhere(), func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.AbortPipeline(ctx, run.ID)
			return err
		})
	case run.Status == daemon.PipelineFailed && n < 50:
		p.resume(run, n < 15)
	case run.CurrentAgentID == nil:
	case n < 8:
		p.send(*run.CurrentAgentID)
	case n < 16:
		_ = p.ask(p.somewhere(), fmt.Sprintf("hand over agent %d of run %d", *run.CurrentAgentID, run.ID), func(ctx context.Context, d *daemon.Daemon) error {
			_, err := d.RequestHandoff(ctx, *run.CurrentAgentID, daemon.HandoffRequest{Force: true})
			return err
		})
	}
}

func (p *person) command(what string, run *daemon.Pipeline, h *host, do func(ctx context.Context, d *daemon.Daemon) error) {
	p.w.plan.count("run: " + what)
	_ = p.ask(h, fmt.Sprintf("%s run %d", what, run.ID), do)
}

// approve is noted before it is asked for: what it allows may come before its answer.
func (p *person) approve(run *daemon.Pipeline, h *host) {
	if i := run.Front(); i < len(run.Steps) {
		p.w.approved[run.Steps[i].ID] = true
	}
	p.command("approve", run, h, func(ctx context.Context, d *daemon.Daemon) error {
		_, err := d.ApprovePipeline(ctx, run.ID, daemon.Decision{Comment: "go on"})
		return err
	})
}

func (p *person) resume(run *daemon.Pipeline, skip bool) {
	what := "resume"
	if skip {
		what = "skip and resume"
	}
	p.command(what, run, p.somewhere(), func(ctx context.Context, d *daemon.Daemon) error {
		p.w.resumed[run.ID]++ // with each attempt: one whose answer was lost may have been carried out
		_, err := d.ResumePipeline(ctx, run.ID, skip)
		return err
	})
}

// seeToRuns brings runs on once things go wrong no more: approvals are given, and what has failed is tried again.
func (p *person) seeToRuns(tries map[int64]int) {
	if p.faulty() {
		return
	}
	for _, run := range p.w.runs() {
		switch {
		case run.Status == daemon.PipelineWaiting && tries[run.ID] < 8:
			p.approve(&run, p.home(run.Host))
		case run.Status == daemon.PipelineFailed && tries[run.ID] < 2:
			p.resume(&run, tries[run.ID] == 1)
		default:
			continue
		}
		tries[run.ID]++
	}
}

// trees are git work trees, as folders.
type trees struct{ g *generation }

func (t trees) Add(ctx context.Context, _, branch, path string) (string, error) {
	return carry(t.g, ctx, typing, "Add tree "+branch, func() (string, error) { return path, os.MkdirAll(path, 0o700) })
}

func (t trees) Remove(ctx context.Context, _, path string) (string, error) {
	return carry(t.g, ctx, typing, "Remove tree", func() (string, error) {
		if t.g.w.rng.IntN(3) == 0 {
			return "some file is not committed", nil
		}
		return "", os.RemoveAll(path)
	})
}

func (t trees) Discard(ctx context.Context, _, path string) error {
	_, err := carry(t.g, ctx, typing, "Discard tree", func() (struct{}, error) { return struct{}{}, os.RemoveAll(path) })
	return err
}
