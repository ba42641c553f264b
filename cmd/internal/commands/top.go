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
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

func topCommand(a *cli.App) *cobra.Command {
	var popup bool
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch the agents, and act on them, in a terminal",
		Long: `Watch the agents in a terminal, and act on them. The list stays up to date, and agents that need a
person stand on top. It also holds pipelines that wait for approval, and failed handoffs. The line
at the bottom says which keys the selected row has: to attach, to answer, to write, to hand off, to
stop, to resume. N starts an agent, p previews the pane of the selected one, ? shows all keys. The
mouse works; Shift with it selects text. NO_COLOR is respected.`,
		Example: "  understudy top",
		RunE:    func(c *cobra.Command, _ []string) error { return runTop(c.Context(), a, popup) },
	}
	c.Flags().BoolVar(&popup, inPopup[2:], false, "top is in a popup of tmux")
	c.Flags().Lookup(inPopup[2:]).Hidden = true
	return c
}

func runTop(ctx context.Context, a *cli.App, popup bool) error {
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
	c := a.Client()
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
		Behind: func(g *daemon.Agent) bool {
			socket, _, ok := tmux.FromEnv(a.Getenv("TMUX"))
			return popup && ok && socket == g.PaneSocket // attaching switches the client that shows the popup
		},
		Explain: func(err error) string { return a.WithData(cli.Sentence(err) + hint(err)) },
		Words:   a.WithData,
	})
}
