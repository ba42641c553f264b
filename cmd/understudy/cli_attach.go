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
	var print, readOnly bool
	c := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Look at an agent in its pane, and type to it",
		Long: `Look at an agent in its pane, and type to it. The pane keeps its size, whatever yours is: of one
that is larger than your terminal you see the part with the cursor. Ctrl-b d leaves it; inside your
own tmux, whose prefix key is Ctrl-b as well, it is Ctrl-b Ctrl-b d.

Inside the agent's own tmux server this switches there, with the size that your tmux gives it.`,
		Example:           "  understudy agent attach 7\n  understudy agent attach developer-con-1 --read-only\n  understudy agent attach 7 --print",
		Args:              exactArgs("AGENT"),
		ValidArgsFunction: a.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			return a.attach(c.Context(), args[0], readOnly, print)
		},
	}
	c.Flags().BoolVarP(&readOnly, "read-only", "r", false, "look only: no key reaches the agent")
	c.Flags().BoolVar(&print, "print", false, "print the command instead of running it")
	return c
}

func (a *app) attach(ctx context.Context, word string, readOnly, print bool) error {
	agent, err := a.attachable(ctx, word)
	if err != nil {
		return err
	}
	inside, _, in := tmux.FromEnv(a.getenv("TMUX"))
	in = in && inside == agent.PaneSocket
	if in && readOnly {
		return fmt.Errorf("you are inside the tmux server of agent %d, where --read-only would last: run this in another terminal, or look with `understudy agent screen %[1]d`", agent.ID)
	}
	argv := attachCommand(agent, in, readOnly)
	if print {
		_, err := fmt.Fprintln(a.stdout, commandLine(argv))
		return err
	}
	if !isTerminal(a.stdin) || !isTerminal(a.stdout) {
		return errors.New("attach needs a terminal: --print prints the command for one")
	}
	bin, err := exec.LookPath(argv[0])
	if err != nil {
		return tmux.ErrMissing
	}
	if in {
		return fmt.Errorf("%s: %w", bin, syscall.Exec(bin, argv, os.Environ()))
	}
	h := holdOn(agent)
	held, err := h.hold(ctx)
	if err != nil {
		return err
	}
	if !held {
		return fmt.Errorf("%s: %w", bin, syscall.Exec(bin, argv, attachEnv(os.Environ())))
	}
	err = runInFront(bin, argv, attachEnv(os.Environ()))
	return errors.Join(err, h.release(context.WithoutCancel(ctx)))
}

// attachable returns the agent that a word names, if it has a pane on this machine. Its daemon is asked for
// the screen, which it refuses in one sentence for each reason that there may be.
func (a *app) attachable(ctx context.Context, word string) (daemon.Agent, error) {
	c, agent, err := a.agent(ctx, word)
	switch {
	case err != nil:
		return agent, err
	case !agent.Active():
		return agent, fmt.Errorf("agent %d has ended: open its session again with `understudy agent resume %[1]d`", agent.ID)
	case !agent.HasPane():
		return agent, fmt.Errorf("agent %d has no tmux pane", agent.ID)
	}
	_, err = c.Screen(ctx, agent.ID, "text")
	switch {
	case hasCode(err, "other_host"):
		return agent, fmt.Errorf("agent %d is on host %s: run `understudy agent attach %[1]d` there", agent.ID, agent.Host)
	case hasCode(err, "agent_no_pane"), hasCode(err, "agent_not_active"):
		return agent, fmt.Errorf("agent %d has just lost its pane: `understudy agent show %[1]d` tells why", agent.ID)
	}
	return agent, err
}

// attachCommand shows the pane. It is selected as well, for a person's own pane may be one of several in
// its window; who else looks at that window keeps the pane that they are in.
func attachCommand(g daemon.Agent, inside, readOnly bool) []string {
	pane := *g.Pane
	argv := []string{"tmux", "-N", "-S", g.PaneSocket}
	if inside {
		argv = append(argv, "switch-client", "-t", pane)
	} else {
		flags := "ignore-size,active-pane"
		if readOnly {
			flags += ",read-only"
		}
		argv = append(argv, "attach-session", "-f", flags, "-t", pane)
	}
	return append(argv, ";", "select-window", "-t", pane, ";", "select-pane", "-t", pane)
}

// attachEnv lets tmux attach from inside another server, which it would refuse for the danger of
// showing a server in itself.
func attachEnv(environ []string) []string {
	var out []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "TMUX=") && !strings.HasPrefix(v, "TMUX_PANE=") {
			out = append(out, v)
		}
	}
	return out
}
