package commands

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/personas"
)

func agentCommand(a *cli.App) *cobra.Command {
	return cli.Group("agent", "Start, look at, talk to and stop agents",
		agentStart(a), agentList(a), agentShow(a), agentScreen(a), agentDiff(a), agentSend(a), agentMessages(a), agentStop(a), agentLimit(a), agentDialog(a), agentAttach(a), agentAssign(a), agentRename(a), agentNotify(a), agentResume(a), agentDismiss(a))
}

func agentStart(a *cli.App) *cobra.Command {
	var in agents.NewAgent
	var tree startTree
	var wait bool
	c := a.WithJSON(&cobra.Command{
		Use:   "start [PERSONA] [-- ARGS...]",
		Short: "Start an agent, in a pane of the daemon's own tmux server",
		Long: `Start an agent, in a pane of the daemon's own tmux server. ARGS are added to the command of its CLI,
and its successors on the same CLI have them too. What understudy itself needs, such as the session
and the settings, is refused.

With --worktree the agent works in a git work tree of its own, on a new branch or on an existing one
that is checked out nowhere. The tree belongs to the agent's line and stays when the agent ends: see
` + "`understudy worktree --help`" + `. Untracked files that the file .worktreeinclude at the top of the
repository names, in the form of .gitignore, are copied into the tree.`,
		Example: `  understudy agent start developer-con-1 --cwd ~/src/app
  understudy agent start reviewer-ada-1 --prompt "Review the newest commit" --wait
  git diff | understudy agent start tester-kit-1 --prompt -
  understudy agent start developer-con-1 --model opus --mode plan -- --add-dir ~/src/lib
  understudy agent start developer-con-1 --worktree              # on a new branch of its own
  understudy agent start developer-con-1 --worktree=fix-login --base main`,
		Args: func(c *cobra.Command, args []string) error {
			before, _ := cutArgs(c, args)
			if len(before) > 2 {
				return fmt.Errorf("%q is one argument too many", before[2])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			args, in.Args = cutArgs(c, args)
			tree.asked = c.Flags().Changed("worktree")
			if err := tree.into(&in, args); err != nil {
				return err
			}
			return startAgent(c.Context(), a, in, wait)
		},
	})
	c.Flags().StringVar(&in.Cwd, "cwd", ".", "working `directory`")
	c.Flags().StringVar(&in.Runtime, "runtime", "", "`name` of the CLI in config.yaml (default the persona's, else claude)")
	c.Flags().StringVar(&in.Model, "model", "", "`model` of the agent (default the persona's, else the CLI's)")
	c.Flags().StringVar(&in.PermissionMode, "mode", "", "`mode` in which the agent asks for permission, in the CLI's words (default the CLI's); also --permission-mode")
	c.Flags().StringVar(&in.Prompt, "prompt", "", "`text` to give the agent once it is ready; - reads it from stdin")
	c.Flags().StringVar(&in.Name, "name", "", "`name` of the agent (default the persona, else the directory)")
	c.Flags().StringVar(&tree.branch, "worktree", "", "work in a git work tree of its own, on this `branch`")
	c.Flags().Lookup("worktree").NoOptDefVal = ownBranch
	c.Flags().StringVar(&tree.base, "base", "", "with --worktree: the `branch` or commit where a new branch begins (default HEAD of --cwd)")
	c.Flags().BoolVar(&in.Sandbox, "sandbox", false, "let the agent reach its work tree, its CLI's files and the network, and nothing else of this machine")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the agent has registered and taken its prompt, not only until it has a pane")
	cli.CompleteFlag(c, "cwd", folders)
	cli.CompleteFlag(c, "runtime", completeRuntimes(a))
	cli.CompleteFlag(c, "mode", completeModes)
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "permission-mode" { // as handoff calls it, whose mode is another thing
			name = "mode"
		}
		return pflag.NormalizedName(name)
	})
	return c
}

// ownBranch is the value of --worktree without a branch. Git takes no such name.
const ownBranch = "a new one"

// startTree are the flags of a start that ask for a work tree.
type startTree struct {
	asked        bool
	branch, base string
}

// into puts the persona and the work tree into a request. --worktree BRANCH without an equals sign leaves the branch among the arguments.
func (t startTree) into(in *agents.NewAgent, args []string) error {
	isPersona := func(word string) bool { _, err := personas.ParseSlug(word); return err == nil }
	if t.asked && t.branch == ownBranch {
		t.branch = ""
		switch {
		case len(args) == 2 && isPersona(args[1]) && !isPersona(args[0]):
			t.branch, args = args[0], args[1:]
		case len(args) == 2:
			t.branch, args = args[1], args[:1]
		case len(args) == 1 && !isPersona(args[0]):
			t.branch, args = args[0], nil
		}
	}
	switch {
	case len(args) > 1:
		return cli.Usagef("one PERSONA is taken, and %q is one word too many", args[1])
	case t.base != "" && !t.asked:
		return cli.Usagef("--base goes with --worktree")
	case len(args) > 0:
		in.Persona = args[0]
	}
	if t.asked {
		in.Worktree = &agents.NewWorktree{Branch: t.branch, Base: t.base}
	}
	return nil
}

// cutArgs splits the arguments of a start into those before -- and those of the CLI behind it.
func cutArgs(c *cobra.Command, args []string) (own, cli []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func startAgent(ctx context.Context, a *cli.App, in agents.NewAgent, wait bool) error {
	var err error
	if in.Cwd, err = filepath.Abs(in.Cwd); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if in.Prompt, err = textOrStdin(a, in.Prompt); err != nil {
		return err
	}
	in.Columns, in.Rows = paneSize(a)
	c := a.Client()
	agent, err := c.CreateAgent(ctx, in)
	if err != nil {
		return err
	}
	return tellStarted(ctx, a, c, &agent, wait)
}

// paneSize returns the size of a pane that fits the terminal of this command. It returns zeros if the command has no
// terminal.
func paneSize(a *cli.App) (columns, rows int) {
	for _, stream := range []any{a.Stdin, a.Stdout, a.Stderr} {
		if columns, rows := term.Size(stream); columns > 0 {
			return daemon.PaneSize(columns, rows)
		}
	}
	return 0, 0
}

// tellStarted waits as awaitStarted does, and prints the agent.
func tellStarted(ctx context.Context, a *cli.App, c *api.Client, began *daemon.Agent, registered bool) error {
	agent, err := awaitStarted(ctx, a, c, began, registered)
	if err == nil && a.JSON {
		err = a.PrintJSON(agent)
	}
	return err
}

// awaitStarted waits until an agent has a pane, and says so if the command prints no JSON. With registered it also waits until the
// agent has a session and has taken its first prompt. began is the row with which the agent began.
func awaitStarted(ctx context.Context, a *cli.App, c *api.Client, began *daemon.Agent, registered bool) (daemon.Agent, error) {
	id, asked := began.ID, ""
	agent, err := awaitAgent(ctx, c, began, func(g *daemon.Agent) bool {
		if said := startWords(g); registered && said != "" && said != asked {
			asked = said
			a.UI(a.Stderr).Printf("%s\n", a.WithData(words.Terminal(asked)))
		}
		return g.HasPane() && (!registered || g.RegisteredAt != nil)
	})
	if err != nil {
		return agent, err
	}
	if registered && agent.FirstPromptID != nil {
		d, err := awaitDelivery(ctx, a, c, daemon.Delivery{ID: *agent.FirstPromptID, AgentID: id})
		if err != nil {
			return agent, err
		}
		if err := promptTaken(&d); err != nil {
			return agent, err
		}
		if agent, err = c.Agent(ctx, id); err != nil {
			return agent, err
		}
	}
	warnTrouble(a, &agent)
	if a.JSON {
		return agent, nil
	}
	if err := tellTree(ctx, a, c, &agent); err != nil {
		return agent, err
	}
	pane := "its pane is gone"
	if agent.HasPane() {
		pane = "in pane " + *agent.Pane
	}
	return agent, say(a, "agent %d (%s) %s: look at it with `understudy agent attach %d`", id, words.Terminal(agent.Name), pane, id)
}

// tellTree says in which work tree a new agent works, what was copied there, and what is not there.
func tellTree(ctx context.Context, a *cli.App, c *api.Client, g *daemon.Agent) error {
	if g.WorktreeID == nil || g.PreviousAgentID != nil {
		return nil
	}
	v, err := c.Worktree(ctx, *g.WorktreeID)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("work tree %d is in %s, on branch %s", v.ID, v.Path, v.Branch)
	if len(v.Copied) > 0 {
		var names []string
		for _, file := range v.Copied[:min(len(v.Copied), 5)] {
			names = append(names, file.Path)
		}
		said += ", with a copy of " + words.List(names, len(v.Copied))
	}
	if v.Last != nil && v.Last.Do == daemon.TreeMake {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", words.Terminal(v.Last.Says))
	}
	return say(a, "%s", words.Terminal(said))
}

// startWords returns what an agent that has not registered asks a person to do, or "" if it asks nothing.
func startWords(g *daemon.Agent) string {
	if g.State != daemon.Waiting || g.RegisteredAt != nil {
		return ""
	}
	return fmt.Sprintf("agent %d waits for you (%s): answer it with `understudy agent attach %[1]d`, and the agent goes on by itself", g.ID, g.WaitsFor)
}

// promptTaken fails if an agent has not taken its first prompt.
func promptTaken(d *daemon.Delivery) error {
	if d.Verdict != nil && *d.Verdict == daemon.Submitted {
		return nil
	}
	return fmt.Errorf("agent %d has not taken its prompt (%s): look at it with `understudy agent attach %[1]d`, and send it again with `understudy agent send %[1]d TEXT` if it is not there", d.AgentID, d.Evidence)
}

// awaitAgent waits until ready returns true for the agent. It fails if the agent ends first, or if the daemon notes why
// the agent does not register. began is the row with which the agent began.
func awaitAgent(ctx context.Context, c *api.Client, began *daemon.Agent, ready func(*daemon.Agent) bool) (daemon.Agent, error) {
	agent := *began
	err := show.Await(ctx, c, nil, func(ctx context.Context) (bool, error) {
		var err error
		if agent, err = c.Agent(ctx, began.ID); err != nil {
			return false, err
		}
		if ready(&agent) {
			return true, nil
		}
		return false, notStarting(began, &agent)
	})
	return agent, err
}

// notStarting says why an agent that has not registered will not do so by itself; nil: it may. The hold with which it began is no
// reason: it tells of the session that the agent opens again.
func notStarting(began, now *daemon.Agent) error {
	switch {
	case !now.Active():
		return fmt.Errorf("agent %d has ended: %s", now.ID, show.EndWords(now.EndReason))
	case now.RegisteredAt == nil && now.Hold != nil && !now.Hold.Same(began.Hold):
		return fmt.Errorf("agent %d: %s: look at it with `understudy agent attach %d`", now.ID, now.Note, now.ID)
	}
	return nil
}

// warnTrouble warns a person who has waited for an agent if the agent's turns fail.
func warnTrouble(a *cli.App, g *daemon.Agent) {
	if g.Trouble != nil {
		fmt.Fprintf(a.Stderr, "understudy: %s\n", words.Terminal(a.WithData(fmt.Sprintf("agent %d is in trouble: %s", g.ID, show.TroubleInFull(g)))))
	}
}
