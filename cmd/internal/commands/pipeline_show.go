package commands

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func pipelineShow(a *cli.App) *cobra.Command {
	var step int
	var input bool
	c := a.WithJSON(&cobra.Command{
		Use:   "show ID",
		Short: "Show one pipeline with its steps, or the output of one step",
		Example: `  understudy pipeline show 7
  understudy pipeline show 7 --step 2 | less
  understudy pipeline show 7 --step 2 --input`,
		ValidArgsFunction: completePipelines(a, nil),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID("pipeline", args[0])
			if err != nil {
				return err
			}
			one := c.Flags().Changed("step")
			switch {
			case one && a.JSON:
				return cli.Usagef("--step and --json do not go together")
			case input && !one:
				return cli.Usagef("--input needs --step, which says whose prompt is meant")
			case one:
				return showStep(c.Context(), a, id, step, input)
			}
			return showPipeline(c.Context(), a, id)
		},
	})
	c.Flags().IntVar(&step, "step", 0, "print the output of the step with this `number`: its agent's final message")
	cli.CompleteFlag(c, "step", cobra.NoFileCompletions)
	c.Flags().BoolVar(&input, "input", false, "with --step: print the step's prompt in place of its output")
	return c
}

func showPipeline(ctx context.Context, a *cli.App, id int64) error {
	c := a.Client()
	p, err := c.Pipeline(ctx, id)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(p)
	}
	show.DescribePipeline(a.UI(a.Stdout), &p)
	return nil
}

// showStep prints a step's output. With input it prints the step's prompt instead.
func showStep(ctx context.Context, a *cli.App, id int64, number int, input bool) error {
	c := a.Client()
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
