package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

// attachMode is how a person attaches to a pane.
type attachMode struct {
	readOnly bool // no key reaches the agent, and the pane keeps its size
	keepSize bool // the pane keeps its size
}

func agentAttach(a *cli.App) *cobra.Command {
	var print bool
	var mode attachMode
	c := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Look at an agent in its pane, and type to it",
		Long: `Look at an agent in its pane, and type to it. The pane takes the size of your terminal; if several
people are attached, it takes the size of the terminal that was typed into last. When the last of
them has left, the pane takes its own size again. With --read-only or --keep-size the pane keeps its
size. If it is then larger than your terminal, you see the part around the cursor; if the agent
hides the cursor, you see the upper left corner.

Ctrl-b d leaves the pane. Inside a tmux of your own, whose prefix key is Ctrl-b as well, Ctrl-b
Ctrl-b d does. If you are inside the agent's own tmux server, the command switches to the pane.`,
		Example: "  understudy agent attach 7\n  understudy agent attach developer-con-1 --read-only\n  understudy agent attach 7 --print",
		RunE: func(c *cobra.Command, args []string) error {
			return attachTo(c.Context(), a, args[0], mode, print)
		},
	}
	c.Flags().BoolVarP(&mode.readOnly, "read-only", "r", false, "look only: no key reaches the agent, and its pane keeps its size")
	c.Flags().BoolVar(&mode.keepSize, "keep-size", false, "do not fit the pane to this terminal")
	c.Flags().BoolVar(&print, "print", false, "print the command instead of running it")
	return c
}

func attachTo(ctx context.Context, a *cli.App, word string, mode attachMode, print bool) error {
	agent, err := attachable(ctx, a, word)
	if err != nil {
		return err
	}
	inside, _, in := tmux.FromEnv(a.Getenv("TMUX"))
	in = in && inside == agent.PaneSocket
	if in && (mode.readOnly || mode.keepSize) {
		return fmt.Errorf("you are inside the tmux server of agent %d, where --read-only and --keep-size would last: run this in another terminal, or look with `understudy agent screen %[1]d`", agent.ID)
	}
	root, err := a.DataRoot()
	if err != nil {
		return err
	}
	argv := attachCommand(agent, mode)
	if in {
		argv = switchCommand(agent, data.At(root).TmuxSocket())
	}
	if print {
		_, err := fmt.Fprintln(a.Stdout, proc.CommandLine(argv))
		return err
	}
	if !term.IsTerminal(a.Stdin) || !term.IsTerminal(a.Stdout) {
		return errors.New("attach needs a terminal: --print prints the command for one")
	}
	bin, err := exec.LookPath(argv[0])
	if err != nil {
		return tmux.ErrMissing
	}
	c := a.Client()
	if err := seen(ctx, a, c, agent.ID); err != nil {
		return err
	}
	if in {
		return fmt.Errorf("%s: %w", bin, syscall.Exec(bin, argv, os.Environ()))
	}
	server, err := tmux.New(tmux.Config{Socket: agent.PaneSocket})
	if err != nil {
		return err
	}
	err = runInFront(bin, argv, attachEnv(os.Environ()))
	after := context.WithoutCancel(ctx)
	return errors.Join(err, server.Settle(after), seen(after, a, c, agent.ID)) // what it finished meanwhile was on the screen
}

// attachable returns the agent that a word names, if the agent's pane is on this machine. It asks the daemon for the
// screen only to get the daemon's refusal: each reason has its own code.
func attachable(ctx context.Context, a *cli.App, word string) (daemon.Agent, error) {
	c, agent, err := findAgent(ctx, a, word)
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
	case hasCode(err, daemon.CodeOtherHost):
		return agent, fmt.Errorf("agent %d is on host %s: run `understudy agent attach %[1]d` there", agent.ID, agent.Host)
	case hasCode(err, daemon.CodeAgentNoPane), hasCode(err, daemon.CodeAgentNotActive):
		return agent, fmt.Errorf("agent %d has just lost its pane: `understudy agent show %[1]d` tells why", agent.ID)
	}
	return agent, err
}

// attachCommand returns the command that shows a pane in a terminal outside the pane's tmux server.
func attachCommand(g daemon.Agent, mode attachMode) []string {
	pane := *g.Pane
	flags := tmux.LookingFlags
	if mode.readOnly {
		flags += ",read-only"
	}
	if mode.readOnly || mode.keepSize {
		return tmuxCommand(g, append(tmux.Hold(pane), showPane(pane, "attach-session", "-f", flags)...))
	}
	return tmuxCommand(g, append(showPane(pane, "attach-session", "-f", tmux.TypingFlags), tmux.Fit(pane)...))
}

// switchCommand returns the command that shows a pane in a client of the pane's own tmux server. It sets the pane's size
// only in the daemon's server, where sizes are fixed. A person's own server decides on sizes itself.
func switchCommand(g daemon.Agent, ours string) []string {
	list := showPane(*g.Pane, "switch-client")
	if g.PaneSocket == ours {
		list = append(list, tmux.Fit(*g.Pane)...)
	}
	return tmuxCommand(g, list)
}

// showPane returns the tmux commands with which a client shows a pane. They also select the pane, because a person's
// window may hold several panes. If other people look at that window, each of them keeps the pane that they are in.
func showPane(pane string, command ...string) [][]string {
	return [][]string{append(command, "-t", pane), {"select-window", "-t", pane}, {"select-pane", "-t", pane}}
}

// tmuxCommand joins tmux commands into one command line for an agent's tmux server.
func tmuxCommand(g daemon.Agent, list [][]string) []string {
	argv := []string{"tmux", "-u", "-N", "-S", g.PaneSocket}
	for i, command := range list {
		if i > 0 {
			argv = append(argv, ";")
		}
		argv = append(argv, command...)
	}
	return argv
}

// attachEnv returns an environment without TMUX and TMUX_PANE, and with a TERM that this machine knows. With TMUX set, tmux refuses to attach from inside another
// tmux server, so that no server shows itself.
func attachEnv(environ []string) []string {
	var out []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "TMUX=") && !strings.HasPrefix(v, "TMUX_PANE=") {
			out = append(out, v)
		}
	}
	return term.Known(out)
}
