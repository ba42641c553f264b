package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
)

func (a *app) agentResume() *cobra.Command {
	var wait, all bool
	c := a.WithJSON(&cobra.Command{
		Use:   "resume (ID | --all)",
		Short: "Open an ended agent's session again, as a new agent of its line",
		Long: `Open an ended agent's session again, as a new agent of its line. With --all: those of all
agents that died within the last day, which nobody asked for, and whose work nobody continues.`,
		Example: `  understudy agent resume 7
  understudy agent resume --all        # after the machine or its tmux server has ended`,
		ValidArgsFunction: a.completeEnded,
		Args: func(c *cobra.Command, args []string) error {
			if all {
				return cli.ExactArgs()(c, args)
			}
			return cli.ExactArgs("ID")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.Client()
			if err != nil {
				return err
			}
			if all {
				return a.resumeAll(c.Context(), client, wait)
			}
			id, err := parseID("agent", args[0])
			if err != nil {
				return err
			}
			return a.resume(c.Context(), client, id, wait)
		},
	})
	c.Flags().BoolVar(&all, "all", false, "all agents that died and whose work nobody continues")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the agent has registered, not only until it has a pane")
	return c
}

func (a *app) resume(ctx context.Context, client *api.Client, id int64, wait bool) error {
	agent, err := client.ResumeAgent(ctx, id)
	if err != nil {
		return err
	}
	return a.tellStarted(ctx, client, agent.ID, wait)
}

// resumeAll resumes the agents that need an heir, one after the other. Its error names those that could not be resumed. The
// daemon resumes an agent once only, so resumeAll may be called again.
func (a *app) resumeAll(ctx context.Context, client *api.Client, wait bool) error {
	list, err := client.Attention(ctx)
	if err != nil {
		return err
	}
	var ids []int64
	for _, n := range list {
		switch {
		case n.Kind != daemon.NeedsHeir || n.About != daemon.AboutAgent:
		case len(n.Together) > 0:
			ids = append(ids, n.Together...)
		default:
			ids = append(ids, n.ID)
		}
	}
	if len(ids) == 0 {
		fmt.Fprintln(a.Stdout, "no agent has died whose work nobody continues")
		return nil
	}
	var failed []error
	for _, id := range ids {
		if err := a.resume(ctx, client, id, wait); err != nil {
			failed = append(failed, fmt.Errorf("agent %d: %w", id, err))
		}
	}
	return errors.Join(failed...)
}
