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

// place is an argument that the usage line of a command names: NAME is needed, [NAME] is not, and of NAME... there may be several.
type place struct {
	name              string
	optional, several bool
}

// places reads a usage line. A flag that stands beside the arguments, as in (NAME... | --all), is set in place of them.
func places(use string) (all []place, instead string) {
	for _, word := range strings.Fields(use)[1:] {
		switch name := strings.Trim(word, "()[]."); {
		case name == "--": // what follows is for another program
			return all, instead
		case strings.HasPrefix(name, "--"):
			instead = name[2:]
		case name != "|":
			all = append(all, place{name, word[0] == '[', strings.Contains(word, "...")})
		}
	}
	return all, instead
}

// TakeArgs makes the commands below root take the arguments that their usage lines name, and complete each by the function for its
// name. A command may have a rule of its own, and a function of its own for its first argument.
func TakeArgs(root *cobra.Command, complete map[string]cobra.CompletionFunc) {
	for _, c := range root.Commands() {
		TakeArgs(c, complete)
		all, instead := places(c.Use)
		if c.HasSubCommands() && len(all) == 0 {
			continue
		}
		if c.Args == nil {
			c.Args = takes(all, instead)
		}
		var functions []cobra.CompletionFunc
		for i, p := range all {
			f := complete[p.name]
			switch {
			case i == 0 && c.ValidArgsFunction != nil:
				f = c.ValidArgsFunction
			case strings.Contains(p.name, "|"):
				f = OneOf(strings.Split(p.name, "|")...)
			}
			functions = append(functions, f)
		}
		if len(all) > 0 && functions[0] != nil {
			c.ValidArgsFunction = completes(all, functions)
		}
	}
}

func takes(all []place, instead string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		all := all
		if f := c.Flags().Lookup(instead); f != nil && f.Value.String() == "true" {
			all = nil
		}
		n := len(all)
		switch {
		case len(args) < n && !all[len(args)].optional:
			return fmt.Errorf("%s is missing", all[len(args)].name)
		case len(args) > n && (n == 0 || !all[n-1].several):
			return fmt.Errorf("%q is one argument too many", args[n])
		}
		return nil
	}
}

// completes completes the argument in each place by the function there. It offers nothing twice.
func completes(all []place, functions []cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		at := min(len(args), len(all)-1)
		if at < len(args) && !all[at].several || functions[at] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		offers, directive := functions[at](c, nil, prefix)
		return slices.DeleteFunc(offers, func(offer string) bool {
			word, _, _ := strings.Cut(offer, "\t")
			return slices.Contains(args, word)
		}), directive
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
