package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

func (a *app) agentAttach() *cobra.Command {
	var print bool
	c := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Look at an agent in its pane, and type to it",
		Long: `Look at an agent in its pane, and type to it. Inside the agent's own tmux server this switches
there; anywhere else it attaches. Ctrl-b d leaves it; inside your own tmux, whose prefix key is
Ctrl-b as well, it is Ctrl-b Ctrl-b d.`,
		Example:           "  understudy agent attach 7\n  understudy agent attach developer-con-1 --print",
		Args:              exactArgs("AGENT"),
		ValidArgsFunction: a.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			return a.attach(c.Context(), args[0], print)
		},
	}
	c.Flags().BoolVar(&print, "print", false, "print the command instead of running it")
	return c
}

func (a *app) attach(ctx context.Context, word string, print bool) error {
	_, agent, err := a.agent(ctx, word)
	switch {
	case err != nil:
		return err
	case !agent.Active():
		return fmt.Errorf("agent %d has ended: open its session again with `understudy agent resume %[1]d`", agent.ID)
	case !agent.HasPane():
		return fmt.Errorf("agent %d has no tmux pane", agent.ID)
	}
	inside, _, in := tmux.FromEnv(a.getenv("TMUX"))
	argv := attachCommand(agent, in && inside == agent.PaneSocket)
	if print {
		quoted := make([]string, len(argv))
		for i, word := range argv {
			quoted[i] = shellQuote(word)
		}
		_, err := fmt.Fprintln(a.stdout, strings.Join(quoted, " "))
		return err
	}
	if !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return errors.New("attach needs a terminal: --print prints the command for one")
	}
	bin, err := exec.LookPath(argv[0])
	if err != nil {
		return tmux.ErrMissing
	}
	return fmt.Errorf("%s: %w", bin, syscall.Exec(bin, argv, attachEnv(os.Environ())))
}

// attachCommand shows the pane. It is selected as well, for a person's own pane may be one of
// several in its window.
func attachCommand(g daemon.Agent, inside bool) []string {
	verb := "attach-session"
	if inside {
		verb = "switch-client"
	}
	pane := *g.Pane
	return []string{"tmux", "-S", g.PaneSocket, verb, "-t", pane, ";", "select-window", "-t", pane, ";", "select-pane", "-t", pane}
}

// attachEnv lets tmux attach from inside another server, which it would refuse for the danger of
// showing a server in itself.
func attachEnv(environ []string) []string {
	var out []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "TMUX=") {
			out = append(out, v)
		}
	}
	return out
}
