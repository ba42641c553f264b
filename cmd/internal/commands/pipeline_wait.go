package commands

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// watchPipeline shows a pipeline's steps, beginning with the state p, until the pipeline ends. Ctrl-C ends only the
// command.
func watchPipeline(ctx context.Context, a *cli.App, c *api.Client, p daemon.Pipeline) error {
	out := a.Stdout
	if a.JSON {
		out = a.Stderr
	}
	u := a.UI(out)
	u.Printf("%s\n", u.Hang(fmt.Sprintf("pipeline %d (%s): %s", p.ID, p.Template, p.Title)))
	w := show.NewStepper(u, &p)
	defer w.Clear()
	fresh := true // p was read a moment ago: show it before asking the daemon, which may be about to end
	err := show.Await(ctx, c, w.Idle, func(ctx context.Context) (bool, error) {
		if !fresh {
			now, err := c.Pipeline(ctx, p.ID)
			if err != nil {
				return false, err
			}
			p = now
		}
		fresh = false
		return w.Look(&p), nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		w.Clear()
		said := fmt.Sprintf("no longer watched; pipeline %d goes on: `understudy pipeline show %[1]d` tells how, `understudy pipeline abort %[1]d` ends it", p.ID)
		fmt.Fprintf(a.Stderr, "understudy: %s\n", a.WithData(said))
		return cli.ErrSilent
	case err != nil:
		return err
	case a.JSON:
		if err := a.PrintJSON(p); err != nil {
			return err
		}
	}
	return tellRunEnd(a, u, &p)
}

// tellRunEnd prints how a pipeline has ended.
func tellRunEnd(a *cli.App, u *term.UI, p *daemon.Pipeline) error {
	switch {
	case p.Worktree != nil:
		u.Printf("%s\n", u.Hang("work tree "+show.TreeWords(u, p)))
	case p.Branch != nil && p.Status == daemon.PipelineDone:
		u.Printf("branch %s\n", words.Terminal(*p.Branch))
	}
	if p.Status == daemon.PipelineFailed {
		u := a.UI(a.Stderr)
		u.Printf("%s\n", u.Hang(fmt.Sprintf("pipeline %d failed: %s", p.ID, show.ErrorWords(p))))
		if p.Hint != "" {
			u.Printf("%s\n", u.Hang(words.TrimDot(words.Capital(p.Hint))+"."))
		}
		return cli.ErrSilent
	}
	work := show.WorkTime(p)
	if work != "" {
		work = " (work " + work + ")"
	}
	u.Printf("%s in %s%s\n", u.Green("done"), show.RunTime(p), work)
	if result := show.ResultWords(p); result != "" {
		u.Printf("%s\n", u.Hang(result))
	}
	return nil
}
