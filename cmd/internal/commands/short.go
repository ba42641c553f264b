package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/understudyd/understudy/cmd/internal/cli"
)

// shortForms returns the commands about agents that people give most often, under their short names. Each is the same command as
// the long one.
func shortForms(a *cli.App) []*cobra.Command {
	var all []*cobra.Command
	for _, short := range []struct {
		word string
		long *cobra.Command
	}{
		{"ls", agentList(a)}, {"attach", agentAttach(a)}, {"start", agentStart(a)}, {"stop", agentStop(a)}, {"send", agentSend(a)}, {"resume", agentResume(a)},
	} {
		c := short.long
		long, arguments, _ := strings.Cut(c.Use, " ")
		c.Use = strings.TrimSpace(short.word + " " + arguments)
		c.Short = fmt.Sprintf("understudy agent %s", long)
		c.Long = fmt.Sprintf("Short for `understudy agent %s`, whose help says more.", long)
		c.Example = strings.ReplaceAll(c.Example, "understudy agent "+long, "understudy "+short.word)
		all = append(all, c)
	}
	return all
}
