package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/permissions"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func permissionCommand(a *cli.App) *cobra.Command {
	c := cli.Group("permission", "See which permissions agents ask for, and answer them",
		permissionList(a), permissionShow(a), permissionAllow(a), permissionDeny(a))
	c.Long = `See which permissions agents ask for, and answer them without going to their panes. The dialog stays
open in the agent's pane: whoever answers first decides. permissions.hold in config.yaml says how
long an answer from elsewhere is waited for. Rules in a persona's skill.md answer by themselves:

  permissions: {allow: ["Bash(go test *)"], deny: ["Bash(git push *)"]}

An agent can't answer permissions.`
	return c
}

func permissionList(a *cli.App) *cobra.Command {
	var all bool
	var agent string
	c := a.WithJSON(&cobra.Command{
		Use:   "list",
		Short: "List the permissions that agents ask for now",
		Example: `  understudy permission list
  understudy permission list --all --agent developer-con-1`,
		RunE: func(c *cobra.Command, _ []string) error { return listPermissions(c.Context(), a, agent, all) },
	})
	c.Flags().BoolVar(&all, "all", false, "also those that were answered or are over")
	c.Flags().StringVar(&agent, "agent", "", "only those of this `agent`")
	cli.CompleteFlag(c, "agent", completeAgents(a))
	return c
}

func listPermissions(ctx context.Context, a *cli.App, word string, all bool) error {
	f := daemon.PermissionFilter{Open: !all}
	if word != "" {
		_, agent, err := findAgent(ctx, a, word)
		if err != nil {
			return err
		}
		f.AgentID = agent.ID
	}
	columns := []string{"ID", "AGENT", "ASKED", "TOOL", "FOR"}
	if all {
		columns = append(columns, "ANSWER")
	}
	list, err := a.Client().Permissions(ctx, f)
	return printList(a, list, err, "no agent asks for a permission", columns, func(p *daemon.Permission) []string {
		row := []string{fmt.Sprint(p.ID), fmt.Sprint(p.AgentID), words.Age(time.Since(p.AskedAt)), words.Terminal(p.Tool), words.Terminal(p.Subject)}
		if all {
			row = append(row, words.Terminal(views.PermissionOutcome(p)))
		}
		return row
	})
}

func permissionShow(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "show ID",
		Short:             "Show what an agent asks for, and what was answered",
		Example:           "  understudy permission show 4711",
		ValidArgsFunction: completePermissions(a),
		RunE: func(c *cobra.Command, args []string) error {
			_, p, err := findPermission(c.Context(), a, args[0])
			return told(a, p, err, func(*term.UI) error {
				printPermission(a, &p)
				return nil
			})
		},
	})
}

func permissionAllow(a *cli.App) *cobra.Command {
	var agent bool
	var digest string
	c := a.WithJSON(&cobra.Command{
		Use:   "allow ID...",
		Short: "Allow what agents ask for, and show what that is",
		Long: `Allow what agents ask for. The command shows what that is, and allows that and nothing else: with
--digest only what ` + "`understudy permission show --json`" + ` showed before of the one permission.`,
		Example: `  understudy permission allow 4711
  understudy permission allow 4711 4712
  understudy permission allow 4711 --agent`,
		ValidArgsFunction: completePermissions(a),
		RunE: func(c *cobra.Command, args []string) error {
			in := permissions.Answer{Verdict: daemon.Allow, Digest: digest}
			if agent {
				in.Verdict = daemon.AllowAgent
			}
			if digest != "" && len(args) > 1 {
				return cli.Usagef("--digest is of one permission")
			}
			return forEach(a, args, func(word string) (any, error) { return answerPermission(c.Context(), a, word, in) })
		},
	})
	c.Flags().BoolVar(&agent, "agent", false, "allow this agent from now on what the permission's rule says")
	c.Flags().StringVar(&digest, "digest", "", "the `digest` of what you have seen (default what the command shows)")
	return c
}

func permissionDeny(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "deny ID [SENTENCE]",
		Short:             "Deny what an agent asks for, with a sentence for it",
		Example:           "  understudy permission deny 4711 \"run the tests of the parser only\"",
		ValidArgsFunction: completePermissions(a),
		RunE: func(c *cobra.Command, args []string) error {
			in := permissions.Answer{Verdict: daemon.Deny}
			if len(args) > 1 {
				in.Sentence = args[1]
			}
			return forEach(a, args[:1], func(word string) (any, error) { return answerPermission(c.Context(), a, word, in) })
		},
	})
}

// answerPermission shows what is answered, and answers that.
func answerPermission(ctx context.Context, a *cli.App, word string, in permissions.Answer) (daemon.Permission, error) {
	c, p, err := findPermission(ctx, a, word)
	if err != nil {
		return p, err
	}
	if !a.JSON {
		printPermission(a, &p)
	}
	if in.Digest == "" {
		in.Digest = p.Digest
	}
	if p, err = c.AnswerPermission(ctx, p.ID, in); err != nil {
		return p, err
	}
	if a.JSON {
		return p, nil
	}
	return p, say(a, "permission %d of agent %d: %s", p.ID, p.AgentID, words.Terminal(views.PermissionOutcome(&p)))
}

// findPermission reads the permission that a person has named.
func findPermission(ctx context.Context, a *cli.App, word string) (*api.Client, daemon.Permission, error) {
	id, err := parseID("permission", word)
	if err != nil {
		return nil, daemon.Permission{}, err
	}
	c := a.Client()
	p, err := c.Permission(ctx, id)
	return c, p, err
}

// printPermission prints all that a permission is about.
func printPermission(a *cli.App, p *daemon.Permission) {
	u := a.UI(a.Stdout)
	rule := p.Rule
	if p.State != daemon.PermissionOpen {
		rule = ""
	}
	u.Fields("permission", fmt.Sprint(p.ID), "agent", fmt.Sprint(p.AgentID), "asked", term.Stamp(&p.AskedAt), "tool", words.Terminal(p.Tool),
		"says", words.Terminal(p.Description), "answer", words.Terminal(views.PermissionOutcome(p)), "--agent", words.Terminal(rule))
	u.Printf("\n")
	u.Block(p.Shown)
	if !p.Whole {
		u.Printf("\n… this is not all of it: it can only be allowed in the agent's pane, `understudy agent attach %d`\n", p.AgentID)
	}
	u.Printf("\n")
}

// completePermissions completes the ids of the permissions that agents ask for now.
func completePermissions(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]daemon.Permission, error) {
		return c.Permissions(ctx, daemon.PermissionFilter{Open: true})
	}, func(p *daemon.Permission) (id, is string) {
		return fmt.Sprint(p.ID), p.Line()
	})
}
