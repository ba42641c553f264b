package sim

import (
	"context"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// run has a run made of a template.
func (p *person) run(h *host, template string) (id int64) {
	if err := p.ask(h, "make a run", func(ctx context.Context, d *daemon.Daemon) error {
		run, err := d.CreatePipeline(ctx, daemon.NewPipeline{Template: template, Title: "A run", Prompt: "Mend the roof", Cwd: h.cwd})
		id = run.ID
		return err
	}); err != nil {
		p.w.fail("%v", err)
	}
	return id
}

// reachRun waits until a run has a status.
func (p *person) reachRun(id int64, until daemon.PipelineStatus) (run daemon.Pipeline) {
	if !p.await(string(until), 10*time.Minute, func() bool {
		run, _ = p.w.store.Pipeline(ctx(), id)
		return run.Status == until
	}) {
		p.w.fail("run %d is %s (%s), not %s", id, run.Status, run.Note, until)
	}
	return run
}

// TestForgottenPrompt: an agent that forgets its step over a dialog, and is given something else to do by a person at
// once, is told its step before that counts as done: a rule of every run says so.
func TestForgottenPrompt(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		var a *agent
		p.w.born = func(born *agent) { a, born.mood.trust, born.mood.forgets = born, true, true }
		id := p.run(h, "one")
		p.await("the dialog", time.Minute, func() bool { return a != nil && a.dialog != nil })
		a.person("", tmux.Enter)
		p.await("its registration", time.Minute, func() bool { return a.ready })
		a.person("something else first", tmux.Enter)
		p.reachRun(id, daemon.PipelineDone)
	})
}
