package commands

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/words"
)

func agentLimit(a *cli.App) *cobra.Command {
	var wait, handOver bool
	var in limits.LimitDecision
	c := a.WithJSON(&cobra.Command{
		Use:   "limit AGENT",
		Short: "Show the limit that an agent has hit, or decide what is done about it",
		Long: `Show the limit that an agent has hit, or decide what is done about it: the usage limit of its
account, a context window that is full, or an API that fails for long. Settings and personas
may decide it beforehand (limits.on_limit in config.yaml, on_limit in skill.md).`,
		Example: `  understudy agent limit 7
  understudy agent limit 7 --wait
  understudy agent limit developer-con-1 --hand-over --runtime codex`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case wait && handOver:
				return cli.Usagef("--wait and --hand-over do not go together")
			case in.Runtime != "" && !handOver:
				return cli.Usagef("--runtime goes with --hand-over")
			case wait:
				in.Do = daemon.LimitWait
			case handOver:
				in.Do = daemon.LimitHandOver
			}
			return decideLimit(c.Context(), a, args[0], in)
		},
	})
	c.Flags().BoolVar(&wait, "wait", false, "have it go on after the reset, or try again if the API fails")
	c.Flags().BoolVar(&handOver, "hand-over", false, "give its work to a successor")
	c.Flags().StringVar(&in.Runtime, "runtime", "", "with --hand-over: `name` of the successor's CLI (default the first fallback that is not limited)")
	cli.CompleteFlag(c, "runtime", completeRuntimes(a))
	return c
}

func decideLimit(ctx context.Context, a *cli.App, word string, in limits.LimitDecision) error {
	c, agent, err := findAgent(ctx, a, word)
	if err != nil {
		return err
	}
	if in.Do != "" {
		agent, err = c.DecideLimit(ctx, agent.ID, in)
	}
	said := cmp.Or(show.LimitInFull(&agent), "is not limited: it is "+string(agent.State))
	return answer(a, agent, err, "agent %d %s", agent.ID, words.Terminal(said))
}
