package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Group makes a command that only holds other commands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return NoCommand(c, args[0])
			}
			return Usagef("%s needs a command", c.CommandPath())
		},
	}
	c.AddCommand(commands...)
	return c
}

// WithJSON adds --json to a command that prints data.
func (a *App) WithJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.JSON, "json", false, "print JSON")
	return c
}

// ExactArgs requires exactly the named arguments.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%q is one argument too many", args[len(names)])
		}
		return nil
	}
}

// OneOf completes fixed words. A word may be followed by a tab and its meaning.
func OneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// CompleteFlag registers the completion of a flag's values. It panics if the command has no such flag.
func CompleteFlag(c *cobra.Command, name string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(name, f); err != nil {
		panic(err) // the command has no such flag
	}
}

// NoCommand returns the error that c has no subcommand word. The error suggests commands that the person may mean.
func NoCommand(c *cobra.Command, word string) error {
	if like := likely(c, word); len(like) > 0 {
		return Usagef("there is no command %q: did you mean %s?", c.CommandPath()+" "+word, strings.Join(like, " or "))
	}
	return Usagef("there is no command %q", c.CommandPath()+" "+word)
}

// likely returns the commands that a person may mean by word, which names no subcommand of c.
func likely(c *cobra.Command, word string) []string {
	if !c.HasParent() {
		switch word {
		case "ps":
			return []string{"ls", "status", "top"}
		case "log", "logs", "history":
			return []string{"events", "audit"}
		case "kill", "end":
			return []string{"agent stop"}
		}
	}
	var like []string
	for _, group := range c.Commands() { // a command one level further down
		for _, below := range group.Commands() {
			if below.Name() == word && !forAgents(group) {
				like = append(like, group.Name()+" "+word)
			}
		}
	}
	if len(like) > 0 {
		return like
	}
	c.SuggestionsMinimumDistance = 2
	return slices.DeleteFunc(c.SuggestionsFor(word), func(name string) bool {
		found, _, err := c.Find([]string{name})
		return err == nil && forAgents(found)
	})
}

// forAgents reports whether c is a command that agents run and people do not.
func forAgents(c *cobra.Command) bool {
	return slices.Contains([]string{"hook", "mcp", "statusline"}, c.Name()) && !c.Parent().HasParent()
}
