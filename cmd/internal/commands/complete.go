package commands

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
)

// completion completes a word with what offers gets from the daemon: words, each with a tab and its meaning. Without a
// daemon it offers nothing.
func completion(a *cli.App, offers func(ctx context.Context, c *api.Client, prefix string) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		return offers(ctx, a.Client(), prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeRows completes a word with the rows that list gets from the daemon. about says how a row is named and what it
// is. A row without a name is not offered.
func completeRows[T any](a *cli.App, list func(context.Context, *api.Client) ([]T, error), about func(*T) (name, is string)) cobra.CompletionFunc {
	return completion(a, func(ctx context.Context, c *api.Client, _ string) (offers []string) {
		rows, _ := list(ctx, c)
		for i := range rows {
			name, is := about(&rows[i])
			offers = offer(offers, name, is)
		}
		return offers
	})
}

// plainWord matches a text that every shell takes as one word without quotes. Completion offers no other text, because
// programs choose the names of agents, and such a name must not put a command onto a person's command line.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN_.-]*$`) })

// offer adds a word and its meaning to the offers, if the word is plain.
func offer(offers []string, word, about string) []string {
	if !plainWord().MatchString(word) {
		return offers
	}
	return append(offers, word+"\t"+words.Terminal(about))
}

// agentAbout names an agent by its id.
func agentAbout(g *daemon.Agent) (id, is string) {
	return fmt.Sprint(g.ID), fmt.Sprintf("%s, %s", g.Name, g.State)
}

// completeAgents completes the ids of active agents. As soon as a letter is typed, it completes names and personas
// instead, if only one agent has them.
func completeAgents(a *cli.App) cobra.CompletionFunc {
	ids := completeRows(a, activeAgents, agentAbout)
	names := completion(a, func(ctx context.Context, c *api.Client, _ string) []string {
		agents, _ := activeAgents(ctx, c)
		return ownNames(agents)
	})
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if strings.Trim(prefix, "0123456789") != "" {
			return names(c, args, prefix)
		}
		return ids(c, args, prefix)
	}
}

// ownNames offers the names and personas that only one agent has.
func ownNames(agents []daemon.Agent) (offers []string) {
	for i := range agents {
		for _, name := range []string{agents[i].Name, agents[i].PersonaSlug()} {
			if list := called(agents, name); name != "" && len(list) == 1 {
				offers = offer(offers, name, fmt.Sprintf("agent %d, %s", list[0].ID, list[0].State))
			}
		}
	}
	slices.Sort(offers)
	return slices.Compact(offers)
}

// completeEnded completes the ids of ended agents whose session can be resumed.
func completeEnded(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]daemon.Agent, error) {
		agents, err := c.Agents(ctx, api.ListOptions{State: string(daemon.Ended)})
		return slices.DeleteFunc(agents, func(g daemon.Agent) bool { return g.SessionID == nil }), err
	}, agentAbout)
}

// completePersonas completes the slugs of personas.
func completePersonas(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]api.Persona, error) { return c.Personas(ctx, false) }, func(p *api.Persona) (slug, is string) {
		return p.Slug, p.Description
	})
}

// completeTemplates completes the names of templates.
func completeTemplates(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]api.Template, error) { return c.Templates(ctx) }, func(t *api.Template) (name, is string) {
		return t.Name, t.Description
	})
}

// completeLogins completes the ids of the browsers that are signed in to the dashboard.
func completeLogins(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]api.Login, error) { return c.Logins(ctx) }, func(l *api.Login) (id, is string) {
		return l.ID, l.Browser
	})
}

// completeTargets completes the names of the targets of notifications.
func completeTargets(a *cli.App) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]notices.TargetReport, error) {
		return c.NotificationTargets(ctx)
	}, func(t *notices.TargetReport) (name, is string) {
		return t.Name, t.Type
	})
}

// completePipelines completes the ids of the pipelines for which fits returns true, or of all pipelines if fits is nil.
func completePipelines(a *cli.App, fits func(*daemon.Pipeline) bool) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]daemon.Pipeline, error) {
		return c.Pipelines(ctx, api.ListOptions{})
	}, func(p *daemon.Pipeline) (id, is string) {
		if fits != nil && !fits(p) {
			return "", ""
		}
		return fmt.Sprint(p.ID), fmt.Sprintf("%s, %s", p.Title, words.Of(p.Status))
	})
}

// completeHandoffs completes the ids of the handoffs for which fits returns true, or of all handoffs if fits is nil.
func completeHandoffs(a *cli.App, fits func(*daemon.Handoff) bool) cobra.CompletionFunc {
	return completeRows(a, func(ctx context.Context, c *api.Client) ([]daemon.Handoff, error) {
		return c.Handoffs(ctx, api.ListOptions{})
	}, func(h *daemon.Handoff) (id, is string) {
		if fits != nil && !fits(h) {
			return "", ""
		}
		return fmt.Sprint(h.ID), fmt.Sprintf("%s, %s", h.Persona, words.Of(h.Phase))
	})
}

// completeHandingOver completes agents. In an agent's pane it also offers selfWord.
func completeHandingOver(a *cli.App) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		offers, directive := completeAgents(a)(c, args, prefix)
		if a.Getenv("UNDERSTUDY_AGENT_ID") != "" {
			offers = append(offers, selfWord+"\tthe agent that runs this")
		}
		return offers, directive
	}
}

// folders makes the shell complete a directory.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRuntimes completes the runtimes that the settings name.
func completeRuntimes(a *cli.App) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (offers []string, _ cobra.ShellCompDirective) {
		if root, err := a.DataRoot(); err == nil {
			if s, err := readSettings(a, root, serveFlags{}); err == nil {
				for name, r := range s.Runtimes {
					offers = offer(offers, name, strings.Join(r.Command, " "))
				}
			}
		}
		slices.Sort(offers)
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeModes completes the permission modes of the runtime that --runtime names, or else of Claude Code.
func completeModes(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	name, _ := c.Flags().GetString("runtime")
	rt, err := catalog.For(cmp.Or(name, claude.Runtime.Name))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return rt.Modes, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// listOf completes the last word of a list with commas. It does not offer a word that the list already has.
func listOf[S ~string](words func() []S) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndex(prefix, ",")+1]
		var out []string
		for _, w := range words() {
			if w := string(w); !strings.Contains(","+before, ","+w+",") {
				out = append(out, before+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// The values that flags take.
var (
	runStatuses = []string{
		string(daemon.PipelinePending), string(daemon.PipelineRunning), string(daemon.PipelineWaiting),
		string(daemon.PipelineDone), string(daemon.PipelineFailed),
	}
	agentStates = []string{
		string(daemon.Starting), string(daemon.Idle), string(daemon.Working), string(daemon.Waiting), string(daemon.Limited), string(daemon.Ended), "active",
	}
	handoffStatuses = []string{"pending", "in_progress", "completed", "failed", "cancelled"}
	handoffModes    = []string{string(daemon.ModeAgent + "\tit writes the document itself"), string(daemon.ModeGenerate + "\ta fork of its session does"),
		string(daemon.ModeTranscript + "\ta new session does, from the transcript")}
)
