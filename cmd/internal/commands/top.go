package commands

import (
	"context"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/cmd/internal/top"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the agents, and act on them, in a terminal",
		Long: `Watch the agents in a terminal, and act on them. The list stays up to date, and agents that need a
person stand on top. It also holds pipelines that wait for approval, and failed handoffs. One key
attaches to an agent, hands it off, or approves a pipeline; ? shows all keys. NO_COLOR is respected.`,
		Example: "  understudy top",
		Args:    cli.ExactArgs(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.top(c.Context()) },
	}
}

func (a *app) top(ctx context.Context) error {
	if !term.IsTerminal(a.Stdin) || !term.IsTerminal(a.Stdout) {
		return cli.Usagef("top needs a terminal; elsewhere use `understudy agent list`")
	}
	root, err := a.DataRoot()
	if err != nil {
		return err
	}
	binary, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	c, err := a.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	here, err := os.Getwd()
	if err != nil {
		here = a.Getenv("HOME") // the directory is gone: propose another one for new agents
	}
	return top.Run(ctx, top.Config{
		Client: c, In: a.Stdin, Out: a.Stdout, Environ: os.Environ(), Home: a.Getenv("HOME"), Directory: here,
		Attach: func(id int64) *exec.Cmd {
			return exec.Command(binary, "agent", "attach", strconv.FormatInt(id, 10), "--data", root)
		},
		Explain: func(err error) string { return a.WithData(cli.Sentence(err) + hint(err)) },
		Words:   a.WithData,
	})
}
