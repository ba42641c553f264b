package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sgr"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

func agentShow(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:     "show AGENT...",
		Short:   "Show agents",
		Example: "  understudy agent show 7\n  understudy agent show developer-con-1 --json\n  understudy agent show 3 4",
		RunE: func(c *cobra.Command, args []string) error {
			shown := 0
			return forEach(a, args, func(word string) (any, error) {
				client, agent, err := findAgent(c.Context(), a, word)
				if err != nil || a.JSON {
					return agent, err
				}
				if shown++; shown > 1 {
					fmt.Fprintln(a.Stdout)
				}
				showAgent(a, agent, workWords(c.Context(), client, &agent), promptWords(c.Context(), client, &agent), usedWords(c.Context(), client, agent.ID), sparkWords(c.Context(), client, agent.ID))
				return agent, client.SeeAgent(c.Context(), &agent)
			})
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

// sparkWords draws how full the agent's context window was in the last day; "": that is not known, or cannot be told now.
func sparkWords(ctx context.Context, c *api.Client, agentID int64) string {
	t, err := c.AgentTimeline(ctx, agentID, "day")
	if err != nil {
		return ""
	}
	return t.Spark(agentID)
}

func showAgent(a *cli.App, g daemon.Agent, work, prompt, used, spark string) {
	end := ""
	if g.EndReason != nil {
		end = show.EndWords(g.EndReason)
	}
	a.UI(a.Stdout).Fields(
		"agent", fmt.Sprint(g.ID), "name", g.Name, "state", stateWords(&g), "limit", show.LimitInFull(&g), "trouble", show.TroubleInFull(&g), "waits for", g.WaitsFor, "note", g.Note,
		"works for", work, "first prompt", prompt, "persona", term.Text(g.Persona), "runtime", g.Runtime, "model", g.Model, "mode", g.PermissionMode, "arguments", strings.Join(g.Args, " "), "sandbox", sandboxWords(&g), "account", accountWords(g.Account), "host", g.Host, "pane", term.Text(g.Pane), "tmux", g.PaneSocket,
		"session", term.Text(g.SessionID), "transcript", term.Text(g.TranscriptPath), "directory", g.Cwd, "repository", g.Repository, "branch", g.Branch,
		"generation", fmt.Sprint(g.Generation), "predecessor", term.Number(g.PreviousAgentID), "successor", term.Number(g.SuccessorID),
		"context", views.ContextInFull(g.Context), "over time", spark, "used", used, "asked", g.Asked, "asked at", term.Stamp(g.LastPromptAt), "last message", g.LastMessage, "notify", notifyWords(&g), "created", term.Stamp(&g.CreatedAt), "registered", term.Stamp(g.RegisteredAt),
		"skill given", term.Stamp(g.SkillInjectedAt), "ended", term.Stamp(g.EndedAt), "end", end, "dismissed", term.Stamp(g.DismissedAt),
	)
}

// accountWords says which account of its own a session has; "": the daemon's.
func accountWords(account *runtimes.Account) string {
	if account == nil {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(account.Variables)) {
		parts = append(parts, name+"="+account.Variables[name])
	}
	for _, name := range account.Secrets {
		what := " (secret)"
		if slices.Contains(account.Lost, name) {
			what = " (lost: nobody knows the value any more)"
		}
		parts = append(parts, name+what)
	}
	for _, name := range account.Left {
		parts = append(parts, name+" (not carried: its value is not clean)")
	}
	return strings.Join(parts, ", ")
}

// sandboxWords says whether an agent runs in a sandbox; "": it does not.
func sandboxWords(g *daemon.Agent) string {
	if g.Sandbox {
		return "yes, and so does whoever takes over from it"
	}
	return ""
}

// stateWords says in which state an agent is, and since when.
func stateWords(g *daemon.Agent) string {
	state := string(g.State)
	if g.Unread && g.State == daemon.Idle {
		state += ", has finished its turn"
	}
	return fmt.Sprintf("%s since %s", state, term.Stamp(&g.StateAt))
}

// notifyWords says whether the operator is notified of an agent's finished turns; "": as its persona says.
func notifyWords(g *daemon.Agent) string {
	switch g.NotifyFinished {
	case "on":
		return "of each finished turn"
	case "off":
		return "not of finished turns"
	}
	return ""
}

func agentScreen(a *cli.App) *cobra.Command {
	var colors bool
	c := &cobra.Command{
		Use:     "screen AGENT",
		Short:   "Print what an agent's pane shows",
		Example: "  understudy agent screen developer-con-1 | tail -5\n  understudy agent screen 7 --colors",
		RunE: onAgent(a, func(ctx context.Context, c *api.Client, g daemon.Agent, _ []string) error {
			format := "text"
			if colors {
				format = "ansi"
			}
			screen, err := c.Screen(ctx, g.ID, format)
			if err == nil {
				clean := words.Screen // whatever release the daemon is
				if colors {
					clean = sgr.Clean
				}
				_, err = fmt.Fprintln(a.Stdout, strings.TrimRight(clean(screen), "\n"))
			}
			return err
		}),
	}
	c.Flags().BoolVar(&colors, "colors", false, "print its colours too")
	return c
}
