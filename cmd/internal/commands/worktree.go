package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/git"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktrees"
)

func worktreeCommand(a *cli.App) *cobra.Command {
	c := cli.Group("worktree", "See, merge, push and remove the work trees of agents and pipelines",
		worktreeList(a), worktreeShow(a), worktreeDiff(a), worktreeMerge(a), worktreePush(a), worktreeRemove(a), worktreeRestore(a))
	c.Long = `See, merge, push and remove the git work trees of agents that were started with
` + "`understudy agent start PERSONA --worktree`" + `, and of pipelines that were started with a branch.
The tree of an agent stays when the agent ends: its successors and a resumed agent work in it, and
nothing but ` + "`worktree remove`" + ` removes it. That of a pipeline is removed when the pipeline is
done, unless work would be lost.

A TREE is named by its id, by its branch, by its agent, or by its pipeline (p12 is that of
pipeline 12).`
	return c
}

func worktreeList(a *cli.App) *cobra.Command {
	var all bool
	c := a.WithJSON(&cobra.Command{
		Use:   "list",
		Short: "List the work trees, with what is in them",
		Long: `List the work trees, the newest first: the branch, the branch from which it began, how many commits
it is ahead of that and behind it, files that are not committed, and who works there.`,
		Example: "  understudy worktree list\n  understudy worktree list --all --json",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := a.Client().Worktrees(c.Context(), all)
			return printList(a, list, err, "no work trees: `understudy agent start PERSONA --worktree` makes one", show.TreeColumns(), func(v *worktrees.TreeView) []string {
				return show.TreeRow(a.UI(a.Stdout), v)
			})
		},
	})
	c.Flags().BoolVarP(&all, "all", "a", false, "list those that were removed or never made, too")
	return c
}

func worktreeShow(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "show TREE",
		Short:   "Show a work tree, with the files that are not committed",
		Example: "  understudy worktree show 3\n  understudy worktree show fix-login",
		RunE: func(c *cobra.Command, args []string) error {
			_, v, err := findTree(c.Context(), a, args[0])
			return told(a, v, err, func(u *term.UI) error {
				show.Worktree(u, &v)
				return nil
			})
		},
	})
}

func worktreeDiff(a *cli.App) *cobra.Command {
	return diffCommand(a, &cobra.Command{
		Use:   "diff TREE [FILE]...",
		Short: "Show what has changed in a work tree since its branch began",
		Long: `Show what has changed in a work tree since its branch began, as ` + "`understudy agent diff`" + ` does for one
agent: commits, files that are not committed, and new files that git does not ignore.`,
		Example: "  understudy worktree diff 3 --stat\n  understudy worktree diff fix-login cmd/main.go",
	}, func(ctx context.Context, name string, in agents.DiffRequest) (agents.AgentDiff, error) {
		client, v, err := findTree(ctx, a, name)
		if err != nil {
			return agents.AgentDiff{}, err
		}
		return client.WorktreeDiff(ctx, v.ID, in)
	})
}

func worktreeMerge(a *cli.App) *cobra.Command {
	var in worktrees.TreeMerging
	c := a.WithJSON(&cobra.Command{
		Use:   "merge TREE",
		Short: "Merge the branch of a work tree into the branch from which it began",
		Long: `Merge the branch of a work tree into the branch from which it began, or into another one. It is done
only if everything in the tree is committed, and as a fast-forward or as a merge without conflicts.
If the other branch is checked out somewhere, the files there are brought up to date, unless the
merge would change files there that are not committed. What is refused leaves everything as it was.
Nothing of the repository's configuration is run: no hook, and no merge driver.`,
		Example: "  understudy worktree merge 3\n  understudy worktree merge fix-login --into develop",
		RunE: func(c *cobra.Command, args []string) error {
			return treeTask(c.Context(), a, args[0], func(ctx context.Context, client *api.Client, id int64) (daemon.Worktree, error) {
				return client.MergeWorktree(ctx, id, in)
			})
		},
	})
	c.Flags().StringVar(&in.Into, "into", "", "merge into this `branch` (default the one from which the tree began)")
	return c
}

func worktreeRemove(a *cli.App) *cobra.Command {
	var in worktrees.TreeRemoval
	c := a.WithJSON(&cobra.Command{
		Use:   "remove TREE",
		Short: "Remove a work tree, unless work would be lost",
		Long: `Remove a work tree. A branch that was made with the tree is removed with it. The command refuses
while an agent works there, and if the tree holds what is nowhere else: files that are not committed
or that git ignores (copies that have not changed do not count), and commits that no other branch
and no remote has. It says which. With --force the tree is removed all the same, and
` + "`understudy worktree restore`" + ` brings it back: refs/understudy/removed/ID keeps its files and
commits, except ignored files of more than 64 MB, which the command names.`,
		Example: "  understudy worktree remove 3\n  understudy worktree remove fix-login --keep-branch\n  understudy worktree remove 3 --force",
		RunE: func(c *cobra.Command, args []string) error {
			return treeTask(c.Context(), a, args[0], func(ctx context.Context, client *api.Client, id int64) (daemon.Worktree, error) {
				return client.RemoveWorktree(ctx, id, in)
			})
		},
	})
	c.Flags().BoolVar(&in.Force, "force", false, "remove it although it holds work that is nowhere else, and keep that")
	c.Flags().BoolVar(&in.KeepBranch, "keep-branch", false, "keep the branch")
	return c
}

func worktreeRestore(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "restore TREE",
		Short:             "Bring a removed work tree back, as it was",
		Example:           "  understudy worktree list --all\n  understudy worktree restore 3",
		ValidArgsFunction: completeTrees(a, daemon.TreeRemoved),
		RunE: func(c *cobra.Command, args []string) error {
			return treeTask(c.Context(), a, args[0], func(ctx context.Context, client *api.Client, id int64) (daemon.Worktree, error) {
				return client.RestoreWorktree(ctx, id)
			})
		},
	})
}

func worktreePush(a *cli.App) *cobra.Command {
	var remote string
	c := a.WithJSON(&cobra.Command{
		Use:   "push TREE",
		Short: "Push the branch of a work tree to the remote's branch of the same name",
		Long: `Push the branch of a work tree to the remote's branch of the same name. This command runs git
itself, here in your terminal, with your settings and credentials; the daemon never pushes. Of the
repository's configuration, which agents can write, only the remote's address is used, and the
command prints it first. No hook of the repository is run: if you need its pre-push hook, as Git
LFS does, use ` + "`git push`" + ` in the tree.`,
		Example: "  understudy worktree push 3\n  understudy worktree push fix-login --remote fork",
		RunE: func(c *cobra.Command, args []string) error {
			return pushTree(c.Context(), a, args[0], remote)
		},
	})
	c.Flags().StringVar(&remote, "remote", "", "the `name` of the remote (default origin, or the only one)")
	return c
}

func pushTree(ctx context.Context, a *cli.App, word, remote string) error {
	_, v, err := findTree(ctx, a, word)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(v.Path); err != nil || !fi.IsDir() {
		return fmt.Errorf("work tree %d is not in %s on this machine: run the command on host %s", v.ID, v.Path, v.Host)
	}
	in := git.Pushing{Path: v.Path, Remote: remote, Environ: os.Environ(), Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr}
	if a.JSON {
		in.Stdout = a.Stderr
	}
	done, err := git.Push(ctx, in, func(p git.Pushed) {
		fmt.Fprintf(a.Stderr, "pushing %s to %s (%s)\n", words.Terminal(p.Branch), words.Terminal(p.Remote), words.Terminal(p.Address))
	})
	if err != nil {
		return err
	}
	if v.Look.UncommittedCount > 0 {
		fmt.Fprintf(a.Stderr, "understudy: %s in the tree not committed, and so not pushed\n", words.Count(v.Look.UncommittedCount, "file"))
	}
	if a.JSON {
		return a.PrintJSON(done)
	}
	said := fmt.Sprintf("%s was pushed to %s", done.Branch, done.Remote)
	if done.Note != "" {
		said += "; " + done.Note
	}
	return say(a, "%s", words.Terminal(said))
}

// treeTask asks for something to be done with a work tree, and waits until it is done.
func treeTask(ctx context.Context, a *cli.App, word string, ask func(context.Context, *api.Client, int64) (daemon.Worktree, error)) error {
	c, v, err := findTree(ctx, a, word)
	if err != nil {
		return err
	}
	t, err := ask(ctx, c, v.ID)
	if err != nil {
		return err
	}
	err = show.Await(ctx, c, nil, func(ctx context.Context) (bool, error) {
		v, err = c.Worktree(ctx, t.ID)
		return err == nil && v.Task == nil, err
	})
	if err != nil {
		return err
	}
	if v.Last == nil {
		return errors.New("it is not known what came of it: see `understudy worktree show`")
	}
	if !v.Last.Done {
		return errors.New(strings.TrimSuffix(v.Last.Says, "."))
	}
	return answer(a, v, nil, "%s", words.Terminal(strings.TrimSuffix(v.Last.Says, ".")))
}

// findTree returns the work tree that a word names: by its id, its branch, or its agent's id or name.
func findTree(ctx context.Context, a *cli.App, word string) (*api.Client, worktrees.TreeView, error) {
	c := a.Client()
	if id, err := strconv.ParseInt(word, 10, 64); err == nil {
		v, err := c.Worktree(ctx, id)
		return c, v, err
	}
	all, err := c.Worktrees(ctx, true)
	if err != nil {
		return nil, worktrees.TreeView{}, err
	}
	there := func(v *worktrees.TreeView) bool {
		return v.State == daemon.TreeStanding || v.State == daemon.TreePlanned
	}
	for _, is := range []func(*worktrees.TreeView) bool{
		func(v *worktrees.TreeView) bool {
			return v.PipelineID != nil && fmt.Sprintf("p%d", *v.PipelineID) == word
		},
		func(v *worktrees.TreeView) bool { return there(v) && v.Branch == word },
		func(v *worktrees.TreeView) bool {
			return there(v) && len(v.Agents) > 0 && v.Agents[0].Name == word
		},
		func(v *worktrees.TreeView) bool { return v.Branch == word },
	} {
		var found []string
		var one worktrees.TreeView
		for i := range all {
			if is(&all[i]) {
				found, one = append(found, strconv.FormatInt(all[i].ID, 10)), all[i]
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return c, one, nil
		default:
			return nil, worktrees.TreeView{}, fmt.Errorf("%q could be work tree %s: use the id", word, strings.Join(found, " or "))
		}
	}
	return nil, worktrees.TreeView{}, fmt.Errorf("no work tree is called %q: `understudy worktree list` shows those that are", word)
}

// completeTrees completes the ids of the work trees in a state.
func completeTrees(a *cli.App, state daemon.TreeState) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]worktrees.TreeView, error) {
		return c.Worktrees(ctx, true)
	}, func(v *worktrees.TreeView) (id, is string) {
		if v.State != state {
			return "", ""
		}
		return fmt.Sprint(v.ID), v.Branch
	})
}
