package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/top"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the agents, and act on them, in a terminal",
		Long: `Watch the agents in a terminal, and act on them: a list that stays up to date, those that need a
person on top. Runs that wait for approval are in it, and failed handoffs. One key attaches to an
agent, hands it off, or approves a run; ? shows them all. NO_COLOR is respected.`,
		Example: "  understudy top",
		Args:    exactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.top(c.Context()) },
	}
}

func (a *app) top(ctx context.Context) error {
	if !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return usagef("top needs a terminal, unlike `understudy agent list`")
	}
	root, err := a.dataRoot()
	if err != nil {
		return err
	}
	binary, err := ownBinary()
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return top.Run(ctx, top.Config{
		Client: c, In: a.stdin, Out: a.stdout, Environ: os.Environ(),
		Attach: func(id int64) *exec.Cmd {
			return exec.Command(binary, "agent", "attach", strconv.FormatInt(id, 10), "--data", root)
		},
		Explain: func(err error) string { return a.withData(sentence(err) + hint(err)) },
		Words:   a.withData,
	})
}
