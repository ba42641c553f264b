package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func pipelineShow(a *cli.App) *cobra.Command {
	var step int
	var input bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one pipeline with its steps, or the output of one step",
		Example: `  understudy pipeline show 7
  understudy pipeline show 7 --step 2 | less
  understudy pipeline show 7 --step 2 --input`,
		ValidArgsFunction: completePipelines(a, nil),
	}
	c.RunE = onID(a, "pipeline", func(ctx context.Context, client *api.Client, id int64) error {
		one := c.Flags().Changed("step")
		switch {
		case one && a.JSON:
			return cli.Usagef("--step and --json do not go together")
		case input && !one:
			return cli.Usagef("--input needs --step, which says whose prompt is meant")
		case one:
			return showStep(ctx, a, client, id, step, input)
		}
		p, err := client.Pipeline(ctx, id)
		return told(a, p, err, func(u *term.UI) error {
			show.DescribePipeline(u, &p)
			return nil
		})
	})
	a.WithJSON(c).Flags().IntVar(&step, "step", 0, "print the output of the step with this `number`: its agent's final message")
	cli.CompleteFlag(c, "step", cobra.NoFileCompletions)
	c.Flags().BoolVar(&input, "input", false, "with --step: print the step's prompt in place of its output")
	return c
}

// showStep prints a step's output. With input it prints the step's prompt instead.
func showStep(ctx context.Context, a *cli.App, c *api.Client, id int64, number int, input bool) error {
	p, err := c.Pipeline(ctx, id)
	switch {
	case err != nil:
		return err
	case number < 1 || number > len(p.Steps):
		return fmt.Errorf("pipeline %d has no step %d: they are numbered from 1 to %d", id, number, len(p.Steps))
	}
	s := &p.Steps[number-1]
	content := s.Input
	switch {
	case input && content == "":
		return fmt.Errorf("step %d of pipeline %d has been given no prompt: it is %s", number, id, s.Status)
	case input:
	case s.LatestHandoff == nil:
		return fmt.Errorf("step %d of pipeline %d has left nothing: it is %s", number, id, s.Status)
	default:
		content = s.LatestHandoff.ContentMD
	}
	content = safeText(a, content)
	if term.IsTerminal(a.Stdout) && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	_, err = io.WriteString(a.Stdout, content)
	return err
}
