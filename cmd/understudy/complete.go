package main

import (
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
)

// completing completes the first argument with what the daemon lists, each a word and after a tab what it
// is. Without a daemon there is nothing to offer.
func (a *app) completing(c *cobra.Command, args []string, list func(context.Context, *api.Client) []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Second)
	defer cancel()
	client, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return list(ctx, client), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// plainWord matches what every shell takes as one word as it stands. What is none is not offered: a name
// that an agent was given by others is typed by nobody's Tab.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN_.-]*$`) })

// offer adds a word and what it is, if it can be offered.
func offer(words []string, word, about string) []string {
	if !plainWord().MatchString(word) {
		return words
	}
	return append(words, word+"\t"+printable(about))
}

// agentAbout says which agent a word is.
func agentAbout(g *daemon.Agent) string { return fmt.Sprintf("%s, %s", g.Name, g.State) }

// completeAgents completes the ids of active agents and, once a letter is typed, the names and personas by
// which one alone of them can be named.
func (a *app) completeAgents(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		agents, _ := activeAgents(ctx, client)
		if prefix != "" && strings.Trim(prefix, "0123456789") != "" {
			return completeNames(agents)
		}
		for _, g := range agents {
			words = offer(words, fmt.Sprint(g.ID), agentAbout(&g))
		}
		return words
	})
}

func completeNames(agents []daemon.Agent) (words []string) {
	for i := range agents {
		for _, name := range []string{agents[i].Name, agents[i].PersonaSlug()} {
			if list := called(agents, name); name != "" && len(list) == 1 {
				words = offer(words, name, fmt.Sprintf("agent %d, %s", list[0].ID, list[0].State))
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// completeEnded completes the ids of agents that have ended and have a session to open again.
func (a *app) completeEnded(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		agents, _ := client.Agents(ctx, api.ListOptions{State: string(daemon.Ended)})
		for _, g := range agents {
			if g.SessionID != nil {
				words = offer(words, fmt.Sprint(g.ID), agentAbout(&g))
			}
		}
		return words
	})
}

// completePersonas completes the slugs of personas.
func (a *app) completePersonas(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		personas, _ := client.Personas(ctx, false)
		for _, p := range personas {
			words = offer(words, p.Slug, p.Description)
		}
		return words
	})
}

// completeTemplates completes the names of templates.
func (a *app) completeTemplates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		templates, _ := client.Templates(ctx)
		for _, t := range templates {
			words = offer(words, t.Name, t.Description)
		}
		return words
	})
}

// completeLogins completes the browsers that are signed in to the dashboard.
func (a *app) completeLogins(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		logins, _ := client.Logins(ctx)
		for _, l := range logins {
			words = offer(words, l.ID, l.Browser)
		}
		return words
	})
}

// completePipelines completes the ids of runs that fit, with their titles.
func (a *app) completePipelines(fits func(*daemon.Pipeline) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
			runs, _ := client.Pipelines(ctx, api.ListOptions{})
			for _, p := range runs {
				if fits(&p) {
					words = offer(words, fmt.Sprint(p.ID), fmt.Sprintf("%s, %s", p.Title, runWords(p.Status)))
				}
			}
			return words
		})
	}
}

// completeHandoffs completes the ids of handoffs that fit, with their personas.
func (a *app) completeHandoffs(fits func(*daemon.Handoff) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
			list, _ := client.Handoffs(ctx, api.ListOptions{})
			for _, h := range list {
				if fits(&h) {
					words = offer(words, fmt.Sprint(h.ID), fmt.Sprintf("%s, %s", h.Persona, phaseWords(&h)))
				}
			}
			return words
		})
	}
}

func anyHandoff(*daemon.Handoff) bool { return true }

func anyPipeline(*daemon.Pipeline) bool { return true }

// completeHandingOver completes agents, and the word for the one that runs the command.
func (a *app) completeHandingOver(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	words, directive := a.completeAgents(c, args, prefix)
	if len(args) == 0 && a.getenv("UNDERSTUDY_AGENT_ID") != "" {
		words = append(words, selfWord+"\tthe agent that runs this")
	}
	return words, directive
}

// folders completes a directory.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeRuntimes completes the runtimes that the settings name.
func (a *app) completeRuntimes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if root, err := a.dataRoot(); err == nil {
		if s, err := a.settings(root, serveFlags{}); err == nil {
			for name, r := range s.Runtimes {
				words = offer(words, name, strings.Join(r.Command, " "))
			}
		}
	}
	slices.Sort(words)
	return words, cobra.ShellCompDirectiveNoFileComp
}

// anyArgs has a flag completed as the first argument of a command is, whatever stands before it.
func anyArgs(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return f(c, nil, prefix)
	}
}

// oneOf completes fixed words, of which each may be followed by a tab and what it means.
func oneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// listOf completes the last of several words, with commas between.
func listOf(words func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndex(prefix, ",")+1]
		var out []string
		for _, w := range words() {
			if !strings.Contains(","+before, ","+w+",") {
				out = append(out, before+w)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func completeFlag(c *cobra.Command, name string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(name, f); err != nil {
		panic(err) // there is no such flag
	}
}

// The words that flags take.
var (
	runStatuses = []string{
		string(daemon.PipelinePending), string(daemon.PipelineRunning), string(daemon.PipelineWaiting),
		string(daemon.PipelineDone), string(daemon.PipelineFailed),
	}
	agentStates = []string{
		string(daemon.Starting), string(daemon.Idle), string(daemon.Working), string(daemon.Waiting), string(daemon.Ended), "active",
	}
	handoffStatuses = []string{"pending", "in_progress", "completed", "failed", "cancelled"}
	handoffModes    = []string{daemon.ModeAgent + "\tit writes the document itself", daemon.ModeGenerate + "\ta fork of its session does"}
)

func phaseWords(h *daemon.Handoff) string { return words(h.Phase) }
