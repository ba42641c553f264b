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

func (a *app) permissionCommand() *cobra.Command {
	c := cli.Group("permission", "See which permissions agents ask for, and answer them",
		a.permissionList(), a.permissionShow(), a.permissionAllow(), a.permissionDeny())
	c.Long = `See which permissions agents ask for, and answer them without going to their panes. The dialog stays
open in the agent's pane: whoever answers first decides. permissions.hold in config.yaml says how
long an answer from elsewhere is waited for. Rules in a persona's skill.md answer by themselves:

  permissions: {allow: ["Bash(go test *)"], deny: ["Bash(git push *)"]}

An agent can't answer permissions.`
	return c
}

func (a *app) permissionList() *cobra.Command {
	var all bool
	var agent string
	c := a.WithJSON(&cobra.Command{
		Use:   "list",
		Short: "List the permissions that agents ask for now",
		Example: `  understudy permission list
  understudy permission list --all --agent developer-con-1`,
		Args: cli.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.listPermissions(c.Context(), agent, all) },
	})
	c.Flags().BoolVar(&all, "all", false, "also those that were answered or are over")
	c.Flags().StringVar(&agent, "agent", "", "only those of this `agent`")
	cli.CompleteFlag(c, "agent", a.completeAgents)
	return c
}

func (a *app) listPermissions(ctx context.Context, word string, all bool) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	f := daemon.PermissionFilter{Open: !all}
	if word != "" {
		_, agent, err := a.findAgent(ctx, word)
		if err != nil {
			return err
		}
		f.AgentID = agent.ID
	}
	list, err := c.Permissions(ctx, f)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(list)
	}
	if len(list) == 0 {
		return a.say("no agent asks for a permission")
	}
	head, rows := []string{"ID", "AGENT", "ASKED", "TOOL", "FOR"}, [][]string{}
	if all {
		head = append(head, "ANSWER")
	}
	for i := range list {
		p := &list[i]
		row := []string{fmt.Sprint(p.ID), fmt.Sprint(p.AgentID), words.Age(time.Since(p.AskedAt)), words.Terminal(p.Tool), words.Terminal(p.Subject)}
		if all {
			row = append(row, words.Terminal(views.PermissionOutcome(p)))
		}
		rows = append(rows, row)
	}
	return a.UI(a.Stdout).Table(head, rows)
}

func (a *app) permissionShow() *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "show ID",
		Short:             "Show what an agent asks for, and what was answered",
		Example:           "  understudy permission show 4711",
		Args:              cli.ExactArgs("ID"),
		ValidArgsFunction: a.completePermissions,
		RunE: func(c *cobra.Command, args []string) error {
			_, p, err := a.permission(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(p)
			}
			a.printPermission(&p)
			return nil
		},
	})
}

func (a *app) permissionAllow() *cobra.Command {
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
		Args:              someArgs("ID", nil),
		ValidArgsFunction: more(a.completePermissions),
		RunE: func(c *cobra.Command, args []string) error {
			in := permissions.Answer{Verdict: daemon.Allow, Digest: digest}
			if agent {
				in.Verdict = daemon.AllowAgent
			}
			if digest != "" && len(args) > 1 {
				return cli.Usagef("--digest is of one permission")
			}
			return a.each(args, func(word string) (any, error) { return a.answerPermission(c.Context(), word, in) })
		},
	})
	c.Flags().BoolVar(&agent, "agent", false, "allow this agent from now on what the permission's rule says")
	c.Flags().StringVar(&digest, "digest", "", "the `digest` of what you have seen (default what the command shows)")
	return c
}

func (a *app) permissionDeny() *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "deny ID [SENTENCE]",
		Short:   "Deny what an agent asks for, with a sentence for it",
		Example: "  understudy permission deny 4711 \"run the tests of the parser only\"",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.ExactArgs("ID")(c, args)
			}
			return maxArgs(2)(c, args)
		},
		ValidArgsFunction: a.completePermissions,
		RunE: func(c *cobra.Command, args []string) error {
			in := permissions.Answer{Verdict: daemon.Deny}
			if len(args) > 1 {
				in.Sentence = args[1]
			}
			return a.each(args[:1], func(word string) (any, error) { return a.answerPermission(c.Context(), word, in) })
		},
	})
}

// answerPermission shows what is answered, and answers that.
func (a *app) answerPermission(ctx context.Context, word string, in permissions.Answer) (daemon.Permission, error) {
	c, p, err := a.permission(ctx, word)
	if err != nil {
		return p, err
	}
	if !a.JSON {
		a.printPermission(&p)
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
	return p, a.say("permission %d of agent %d: %s", p.ID, p.AgentID, words.Terminal(views.PermissionOutcome(&p)))
}

// permission reads the permission that a person has named.
func (a *app) permission(ctx context.Context, word string) (*api.Client, daemon.Permission, error) {
	id, err := parseID("permission", word)
	if err != nil {
		return nil, daemon.Permission{}, err
	}
	c, err := a.Client()
	if err != nil {
		return nil, daemon.Permission{}, err
	}
	p, err := c.Permission(ctx, id)
	return c, p, err
}

// printPermission prints all that a permission is about.
func (a *app) printPermission(p *daemon.Permission) {
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
func (a *app) completePermissions(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		list, _ := client.Permissions(ctx, daemon.PermissionFilter{Open: true})
		for i := range list {
			offers = offer(offers, fmt.Sprint(list[i].ID), list[i].Line())
		}
		return offers
	})
}
