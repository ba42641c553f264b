package cli

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
	"github.com/understudyd/understudy/daemon/words"
)

// completing completes the first argument with what the daemon lists, each a word and after a tab what it
// is. Without a daemon there is nothing to offer.
func (a *App) completing(c *cobra.Command, args []string, list func(context.Context, *api.Client) []string) ([]string, cobra.ShellCompDirective) {
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

// plainWord matches what every shell takes as one word as it stands. What is none is not offered: a name
// that an agent was given by others is typed by nobody's Tab.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN_.-]*$`) })

// offer adds a word and what it is, if it can be offered.
func offer(offers []string, word, about string) []string {
	if !plainWord().MatchString(word) {
		return offers
	}
	return append(offers, word+"\t"+words.Terminal(about))
}

// agentAbout says which agent a word is.
func agentAbout(g *daemon.Agent) string { return fmt.Sprintf("%s, %s", g.Name, g.State) }

// CompleteAgents completes the ids of active agents and, once a letter is typed, the names and personas by
// which one alone of them can be named.
func (a *App) CompleteAgents(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		agents, _ := ActiveAgents(ctx, client)
		if prefix != "" && strings.Trim(prefix, "0123456789") != "" {
			return CompleteNames(agents)
		}
		for _, g := range agents {
			offers = offer(offers, fmt.Sprint(g.ID), agentAbout(&g))
		}
		return offers
	})
}

func CompleteNames(agents []daemon.Agent) (offers []string) {
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

// CompleteEnded completes the ids of agents that have ended and have a session to open again.
func (a *App) CompleteEnded(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
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

// CompletePersonas completes the slugs of personas.
func (a *App) CompletePersonas(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		personas, _ := client.Personas(ctx, false)
		for _, p := range personas {
			offers = offer(offers, p.Slug, p.Description)
		}
		return offers
	})
}

// CompleteTemplates completes the names of templates.
func (a *App) CompleteTemplates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		templates, _ := client.Templates(ctx)
		for _, t := range templates {
			offers = offer(offers, t.Name, t.Description)
		}
		return offers
	})
}

// CompleteLogins completes the browsers that are signed in to the dashboard.
func (a *App) CompleteLogins(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
		logins, _ := client.Logins(ctx)
		for _, l := range logins {
			offers = offer(offers, l.ID, l.Browser)
		}
		return offers
	})
}

// CompletePipelines completes the ids of runs that fit, with their titles.
func (a *App) CompletePipelines(fits func(*daemon.Pipeline) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
			runs, _ := client.Pipelines(ctx, api.ListOptions{})
			for _, p := range runs {
				if fits(&p) {
					offers = offer(offers, fmt.Sprint(p.ID), fmt.Sprintf("%s, %s", p.Title, words.Of(p.Status)))
				}
			}
			return offers
		})
	}
}

// CompleteHandoffs completes the ids of handoffs that fit, with their personas.
func (a *App) CompleteHandoffs(fits func(*daemon.Handoff) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.completing(c, args, func(ctx context.Context, client *api.Client) (offers []string) {
			list, _ := client.Handoffs(ctx, api.ListOptions{})
			for _, h := range list {
				if fits(&h) {
					offers = offer(offers, fmt.Sprint(h.ID), fmt.Sprintf("%s, %s", h.Persona, phaseWords(&h)))
				}
			}
			return offers
		})
	}
}

func AnyHandoff(*daemon.Handoff) bool { return true }

func AnyPipeline(*daemon.Pipeline) bool { return true }

// CompleteHandingOver completes agents, and the word for the one that runs the command.
func (a *App) CompleteHandingOver(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	offers, directive := a.CompleteAgents(c, args, prefix)
	if len(args) == 0 && a.Getenv("UNDERSTUDY_AGENT_ID") != "" {
		offers = append(offers, SelfWord+"\tthe agent that runs this")
	}
	return offers, directive
}

// Folders completes a directory.
func Folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// CompleteRuntimes completes the runtimes that the settings name.
func (a *App) CompleteRuntimes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	if root, err := a.DataRoot(); err == nil {
		if s, err := a.Settings(root, ServeFlags{}); err == nil {
			for name, r := range s.Runtimes {
				offers = offer(offers, name, strings.Join(r.Command, " "))
			}
		}
	}
	slices.Sort(offers)
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// AnyArgs has a flag completed as the first argument of a command is, whatever stands before it.
func AnyArgs(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return f(c, nil, prefix)
	}
}

// OneOf completes fixed words, of which each may be followed by a tab and what it means.
func OneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// ListOf completes the last of several words, with commas between.
func ListOf[S ~string](words func() []S) cobra.CompletionFunc {
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

func CompleteFlag(c *cobra.Command, name string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(name, f); err != nil {
		panic(err) // there is no such flag
	}
}

// The words that flags take.
var (
	RunStatuses = []string{
		string(daemon.PipelinePending), string(daemon.PipelineRunning), string(daemon.PipelineWaiting),
		string(daemon.PipelineDone), string(daemon.PipelineFailed),
	}
	AgentStates = []string{
		string(daemon.Starting), string(daemon.Idle), string(daemon.Working), string(daemon.Waiting), string(daemon.Ended), "active",
	}
	HandoffStatuses = []string{"pending", "in_progress", "completed", "failed", "cancelled"}
	HandoffModes    = []string{string(daemon.ModeAgent + "\tit writes the document itself"), string(daemon.ModeGenerate + "\ta fork of its session does")}
)

func phaseWords(h *daemon.Handoff) string { return words.Of(h.Phase) }
