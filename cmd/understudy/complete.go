package main

import (
	"context"
	"fmt"
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
	return list(ctx, client), cobra.ShellCompDirectiveNoFileComp
}

// completeAgents completes the ids of active agents, with their names.
func (a *app) completeAgents(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		agents, _ := activeAgents(ctx, client)
		for _, g := range agents {
			words = append(words, fmt.Sprintf("%d\t%s, %s", g.ID, printable(g.Name), g.State))
		}
		return words
	})
}

// completePersonas completes the slugs of personas.
func (a *app) completePersonas(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		personas, _ := client.Personas(ctx, false)
		for _, p := range personas {
			words = append(words, p.Slug+"\t"+printable(p.Description))
		}
		return words
	})
}

// completeTemplates completes the names of templates.
func (a *app) completeTemplates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completing(c, args, func(ctx context.Context, client *api.Client) (words []string) {
		templates, _ := client.Templates(ctx)
		for _, t := range templates {
			words = append(words, printable(t.Name)+"\t"+printable(t.Description))
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
					words = append(words, fmt.Sprintf("%d\t%s, %s", p.ID, printable(p.Title), runWords(p.Status)))
				}
			}
			return words
		})
	}
}
