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
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
)

// completing completes the first argument with the offers that list gets from the daemon. Each offer is a word, a tab,
// and the meaning of the word. Without a daemon it offers nothing.
func (a *app) completing(c *cobra.Command, args []string, list func(context.Context, *api.Client) []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	client, err := a.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return list(ctx, client), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
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

// agentAbout describes an agent in the offer of its id.
func agentAbout(g *daemon.Agent) string { return fmt.Sprintf("%s, %s", g.Name, g.State) }

// completeAgents completes the ids of active agents. As soon as a letter is typed, it completes names and personas
// instead, if only one agent has them.
func (a *app) completeAgents(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		agents, _ := activeAgents(ctx, client)
		if prefix != "" && strings.Trim(prefix, "0123456789") != "" {
			return completeNames(agents)
		}
		for _, g := range agents {
			offers = offer(offers, fmt.Sprint(g.ID), agentAbout(&g))
		}
		return offers
	})
}

// completeNames offers the names and personas that only one agent has.
func completeNames(agents []daemon.Agent) (offers []string) {
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
func (a *app) completeEnded(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		agents, _ := client.Agents(ctx, api.ListOptions{State: string(daemon.Ended)})
		for _, g := range agents {
			if g.SessionID != nil {
				offers = offer(offers, fmt.Sprint(g.ID), agentAbout(&g))
			}
		}
		return offers
	})
}

// completePersonas completes the slugs of personas.
func (a *app) completePersonas(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		personas, _ := client.Personas(ctx, false)
		for _, p := range personas {
			offers = offer(offers, p.Slug, p.Description)
		}
		return offers
	})
}

// completeTemplates completes the names of templates.
func (a *app) completeTemplates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		templates, _ := client.Templates(ctx)
		for _, t := range templates {
			offers = offer(offers, t.Name, t.Description)
		}
		return offers
	})
}

// completeLogins completes the ids of the browsers that are signed in to the dashboard.
func (a *app) completeLogins(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		logins, _ := client.Logins(ctx)
		for _, l := range logins {
			offers = offer(offers, l.ID, l.Browser)
		}
		return offers
	})
}

// completeTargets completes the names of the targets of notifications.
func (a *app) completeTargets(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		all, _ := client.NotificationTargets(ctx)
		for _, t := range all {
			offers = offer(offers, t.Name, t.Type)
		}
		return offers
	})
}

// completePipelines completes the ids of the pipelines for which fits returns true, or of all pipelines if fits is nil.
func (a *app) completePipelines(fits func(*daemon.Pipeline) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
			list, _ := client.Pipelines(ctx, api.ListOptions{})
			for _, p := range list {
				if fits == nil || fits(&p) {
					offers = offer(offers, fmt.Sprint(p.ID), fmt.Sprintf("%s, %s", p.Title, words.Of(p.Status)))
				}
			}
			return offers
		})
	}
}

// completeHandoffs completes the ids of the handoffs for which fits returns true, or of all handoffs if fits is nil.
func (a *app) completeHandoffs(fits func(*daemon.Handoff) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
			list, _ := client.Handoffs(ctx, api.ListOptions{})
			for _, h := range list {
				if fits == nil || fits(&h) {
					offers = offer(offers, fmt.Sprint(h.ID), fmt.Sprintf("%s, %s", h.Persona, words.Of(h.Phase)))
				}
			}
			return offers
		})
	}
}

// completeHandingOver completes agents. In an agent's pane it also offers selfWord.
func (a *app) completeHandingOver(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	offers, directive := a.completeAgents(c, args, prefix)
	if len(args) == 0 && a.Getenv("UNDERSTUDY_AGENT_ID") != "" {
		offers = append(offers, selfWord+"\tthe agent that runs this")
	}
	return offers, directive
}

// folders makes the shell complete a directory.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRuntimes completes the runtimes that the settings name.
func (a *app) completeRuntimes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	if root, err := a.DataRoot(); err == nil {
		if s, err := a.settings(root, serveFlags{}); err == nil {
			for name, r := range s.Runtimes {
				offers = offer(offers, name, strings.Join(r.Command, " "))
			}
		}
	}
	slices.Sort(offers)
	return offers, cobra.ShellCompDirectiveNoFileComp
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

// anyArgs completes a flag as f completes the first argument of a command. The arguments before the flag do not matter.
func anyArgs(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return f(c, nil, prefix)
	}
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
