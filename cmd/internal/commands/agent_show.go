package commands

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

func (a *app) agentList() *cobra.Command {
	var all bool
	o := api.ListOptions{}
	c := a.WithJSON(&cobra.Command{
		Use:   "list",
		Short: "List the agents that have not ended, the newest first",
		Example: `  understudy agent list
  understudy agent list --all --persona developer-con-1
  understudy agent list --state waiting --json`,
		Args: cli.ExactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if all && o.State != "" {
				return cli.Usagef("--all and --state do not go together")
			}
			if o.State == "" && !all {
				o.State = "active"
			}
			return a.listAgents(c.Context(), o)
		},
	})
	c.Flags().BoolVarP(&all, "all", "a", false, "list agents that have ended too")
	c.Flags().StringVar(&o.State, "state", "", "only those in this `state`: starting, idle, working, waiting, limited, ended, or active for all but the last")
	c.Flags().StringVar(&o.Persona, "persona", "", "only those that play this `persona`")
	c.Flags().IntVar(&o.Limit, "limit", 100, "at most this `number`")
	cli.CompleteFlag(c, "state", cli.OneOf(agentStates...))
	cli.CompleteFlag(c, "persona", anyArgs(a.completePersonas))
	return c
}

func (a *app) listAgents(ctx context.Context, o api.ListOptions) error {
	needs := map[int64]daemon.AttentionKind{}
	get := func(c *api.Client) ([]daemon.Agent, error) {
		list, err := c.Agents(ctx, o)
		if err != nil || a.JSON || len(list) == 0 {
			return list, err
		}
		all, err := c.Attention(ctx)
		for _, n := range all {
			if n.Agent != nil {
				needs[n.Agent.ID] = n.Kind
			}
		}
		return list, err
	}
	columns := []string{"ID", "NAME", "STATE", "PERSONA", "PANE", "GEN", "CONTEXT", "STARTED", "DIRECTORY"}
	none := "no agents: start one with `understudy agent start PERSONA`"
	if o.Persona != "" || o.State != "" && o.State != "active" {
		none = "no agent is like that: `understudy agent list --all` shows those that there are"
	}
	return printList(a, get, none, columns, func(g daemon.Agent) []string {
		return []string{
			fmt.Sprint(g.ID), g.Name, show.StateCell(&g, needs[g.ID]), cmp.Or(term.Text(g.Persona), "-"), cmp.Or(term.Text(g.Pane), "-"), fmt.Sprint(g.Generation), cmp.Or(g.Context.Words(), "-"), words.Ago(g.CreatedAt), g.Cwd,
		}
	})
}

func (a *app) agentShow() *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:               "show AGENT",
		Short:             "Show one agent",
		Example:           "  understudy agent show 7\n  understudy agent show developer-con-1 --json",
		Args:              cli.ExactArgs("AGENT"),
		ValidArgsFunction: a.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			client, agent, err := a.findAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(agent)
			}
			a.showAgent(agent, workWords(c.Context(), client, &agent), promptWords(c.Context(), client, &agent), usedWords(c.Context(), client, agent.ID))
			return nil
		},
	})
}

// workWords says which step of which pipeline an agent works on. If it cannot read the pipeline, it names only the
// pipeline's id.
func workWords(ctx context.Context, c *api.Client, g *daemon.Agent) string {
	if g.PipelineID == nil {
		return ""
	}
	p, err := c.Pipeline(ctx, *g.PipelineID)
	if err != nil {
		return fmt.Sprintf("pipeline %d", *g.PipelineID)
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; g.StepID != nil && s.ID == *g.StepID {
			return fmt.Sprintf("step %d (%s) of pipeline %d (%s)", i+1, s.AgentName, p.ID, p.Title)
		}
	}
	return fmt.Sprintf("pipeline %d (%s)", p.ID, p.Title)
}

// promptWords says whether the agent's first prompt was delivered.
func promptWords(ctx context.Context, c *api.Client, g *daemon.Agent) string {
	if g.FirstPromptID == nil {
		return ""
	}
	list, err := c.Messages(ctx, g.ID, api.ListOptions{Before: *g.FirstPromptID + 1, Limit: 1})
	if err != nil || len(list) != 1 {
		return fmt.Sprintf("delivery %d", *g.FirstPromptID)
	}
	return deliveryWords(&list[0])
}

func (a *app) showAgent(g daemon.Agent, work, prompt, used string) {
	end := ""
	if g.EndReason != nil {
		end = show.EndWords(g.EndReason)
	}
	a.UI(a.Stdout).Fields(
		"agent", fmt.Sprint(g.ID), "name", g.Name, "state", string(g.State), "limit", show.LimitInFull(&g), "trouble", show.TroubleInFull(&g), "waits for", g.WaitsFor, "note", g.Note,
		"works for", work, "first prompt", prompt, "persona", term.Text(g.Persona), "runtime", g.Runtime, "host", g.Host, "pane", term.Text(g.Pane), "tmux", g.PaneSocket,
		"session", term.Text(g.SessionID), "transcript", term.Text(g.TranscriptPath), "directory", g.Cwd,
		"generation", fmt.Sprint(g.Generation), "predecessor", term.Number(g.PreviousAgentID), "successor", term.Number(g.SuccessorID),
		"context", g.Context.InFull(), "used", used, "last message", g.LastMessage, "created", term.Stamp(&g.CreatedAt), "registered", term.Stamp(g.RegisteredAt),
		"skill given", term.Stamp(g.SkillInjectedAt), "ended", term.Stamp(g.EndedAt), "end", end,
	)
}

func (a *app) agentScreen() *cobra.Command {
	return &cobra.Command{
		Use:               "screen AGENT",
		Short:             "Print what an agent's pane shows",
		Example:           "  understudy agent screen developer-con-1 | tail -5",
		Args:              cli.ExactArgs("AGENT"),
		ValidArgsFunction: a.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			client, agent, err := a.findAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			screen, err := client.Screen(c.Context(), agent.ID, "text")
			if err == nil {
				_, err = fmt.Fprintln(a.Stdout, strings.TrimRight(screen, "\n"))
			}
			return err
		},
	}
}
