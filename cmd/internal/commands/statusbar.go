package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/tmux"
)

// statusBarCommand has the command with the flags that package early leaves to it. Package early runs the segment itself
// before the command line is set up.
func statusBarCommand(a *cli.App) *cobra.Command {
	var color, conf bool
	c := a.WithJSON(&cobra.Command{
		Use:   "statusbar",
		Short: "Print what needs you in a few words, for tmux's status line",
		Long: `Print what needs you in a few words, for the status line of your own tmux: "2 wait, 1 failed". It
counts what the dashboard shows under "Needs you", and agents that have finished since you looked.
If nothing needs you, it prints nothing. If the daemon does not answer within a second, it
says so and exits 1: "understudy: down", "understudy: no answer" or, while the daemon waits for its
database, "understudy: not ready".

With --conf it prints the lines for your ~/.tmux.conf. They also show, in a pane whose agent was
handed over, which agent goes on.`,
		Example: `  understudy statusbar
  understudy statusbar --conf >> ~/.tmux.conf && tmux source-file ~/.tmux.conf
  understudy statusbar --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case conf:
				return statusBarConf(a)
			case a.JSON:
				count, err := a.Client().AttentionCount(c.Context())
				return told(a, count, err, nil)
			}
			if inside.StatusBar(c.Context(), inside.BarOptions{Data: a.DataFlag, Color: color}, a.Getenv, a.Stdout, a.Stderr) != 0 {
				return cli.ErrSilent
			}
			return nil
		},
	})
	c.Flags().BoolVar(&color, "color", false, "with tmux's styles")
	c.Flags().BoolVar(&conf, "conf", false, "print the lines for tmux.conf")
	c.MarkFlagsMutuallyExclusive("conf", "json")
	return c
}

// statusBarConf prints lines that may be read several times, as when tmux.conf is read again: they add the segment unless
// status-right has it.
func statusBarConf(a *cli.App) error {
	binary, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	command := proc.ShellQuote(proc.HookProgramOf(binary)) + " statusbar --color"
	if a.DataFlag != "" || a.Getenv("UNDERSTUDY_DATA") != "" { // tmux's environment need not have the variable
		root, err := a.DataRoot()
		if err != nil {
			return err
		}
		command += " --data " + proc.ShellQuote(root)
	}
	segment := " #{?" + tmux.SaysOption + ",#{" + tmux.SaysOption + "} ,}#(" + strings.NewReplacer("#", "##", "%", "%%").Replace(command) + ") "
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace
	_, err = fmt.Fprintf(a.Stdout, `# understudy: what needs you, asked every 5 seconds; and in a pane whose agent was handed over, who goes on
set -g status-interval 5
if -F '#{m:*statusbar --color*,#{status-right}}' '' {
  set -ag status-right "%s"
  set -g status-right-length 120
}
`, quote(segment))
	return err
}
