// Package commands is the command line of understudy: one file for each command, and the root command, which adds all
// others. Commands ask the daemon over its socket; serve, demo, doctor, service and hooks work without a daemon. A
// command is one goroutine unless its comment says otherwise. A command that is killed leaves nothing behind. Its
// requests are stored in the daemon's database, and the daemon goes on with them.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/demo"
	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/cmd/internal/service"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
)

// The exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Run runs one command line and returns the exit code: 0 done, 1 failed, 2 wrong usage.
func Run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return RunIn(ctx, &cli.App{Getenv: getenv, Stdin: stdin, Stdout: stdout, Stderr: stderr}, args)
}

// RunIn is [Run] in a world that the caller has made.
func RunIn(ctx context.Context, a *cli.App, args []string) int {
	stderr := a.Stderr
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if word, ok := unknownCommand(err); ok && !a.Started {
		err = cli.NoCommand(cmd, word)
	}
	var wrong *cli.UsageError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, cli.ErrSilent):
		return ExitFailed
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "understudy: interrupted; the daemon goes on with what was asked for")
		return ExitFailed
	case errors.As(err, &wrong) && strings.HasSuffix(wrong.Message, "?"): // the sentence already suggests commands
		fmt.Fprintf(stderr, "understudy: %s\n", wrong.Message)
		return ExitUsage
	case !a.Started || errors.As(err, &wrong):
		fmt.Fprintf(stderr, "understudy: %s: see `%s --help`\n", cli.Sentence(err), cmd.CommandPath())
		return ExitUsage
	}
	fmt.Fprintf(stderr, "understudy: %s\n", a.WithData(cli.Sentence(err)+hint(err)))
	return ExitFailed
}

// say prints a sentence. If this command was given --data, commands in the sentence get the flag as well.
func say(a *cli.App, format string, args ...any) error {
	_, err := fmt.Fprintln(a.Stdout, a.WithData(fmt.Sprintf(format, args...)))
	return err
}

// told ends a command that asked for v. It fails with err, prints v with --json, and else lets tell print it for people.
func told[T any](a *cli.App, v T, err error, tell func(u *term.UI) error) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(v)
	}
	return tell(a.UI(a.Stdout))
}

// answer is told with a sentence, as say prints it.
func answer[T any](a *cli.App, v T, err error, format string, args ...any) error {
	return told(a, v, err, func(*term.UI) error { return say(a, format, args...) })
}

func rootCommand(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "understudy",
		Short: "Supervises CLI coding agents in tmux and hands their work on",
		Long: `Understudy runs CLI coding agents in tmux panes, each playing a persona. When an agent's context is
full, or it is stuck or done, understudy hands its work to a successor: the agent writes a document
and is shut down, and a fresh agent of the same persona goes on from the document.

A daemon keeps all its files in one data directory: --data, else $UNDERSTUDY_DATA, else
/var/lib/understudy/data for root, and for others understudy/data in $XDG_DATA_HOME, which is
~/.local/share if it is not set.`,
		Example: `  understudy demo                                       # watch a handoff from start to end
  understudy serve                                      # the daemon, in the foreground
  understudy agent start developer-con-1 --cwd ~/app    # an agent that plays a persona
  understudy handoff developer-con-1 --wait             # its work goes to a successor
  understudy pipeline run quick_fix --prompt TODO       # personas in sequence, one feeding the next`,
		Version:       build.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// cli.NoCommand puts suggestions into the error's sentence.
		DisableSuggestions: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.Started = true
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate(build.Line())
	root.PersistentFlags().StringVar(&a.DataFlag, "data", "", "data `directory` (default $UNDERSTUDY_DATA, else see understudy --help)")
	root.AddGroup(
		&cobra.Group{ID: "begin", Title: "To begin with:"},
		&cobra.Group{ID: "work", Title: "Agents and their work:"},
		&cobra.Group{ID: "short", Title: "Short forms:"},
		&cobra.Group{ID: "setup", Title: "Around it:"},
	)
	root.SetHelpCommandGroupID("setup")
	for group, commands := range map[string][]*cobra.Command{
		"begin": {demo.Command(a), serveCommand(a)},
		"work":  {personaCommand(a), agentCommand(a), handoffCommand(a), permissionCommand(a), worktreeCommand(a), pipelineCommand(a), statusCommand(a), topCommand(a), popupCommand(a), statusBarCommand(a), dashboardCommand(a), remoteCommand(a), usageCommand(a), eventsCommand(a), auditCommand(a)},
		"short": shortForms(a),
		"setup": {doctorCommand(a), runtimesCommand(a), reloadCommand(a), notificationsCommand(a), pruneCommand(a), service.Command(a), completionCommand(a), versionCommand(a), hooksCommand(a)},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	for _, c := range []*cobra.Command{hookCommand(a), statusLineCommand(a), mcpCommand(a)} { // agents run them, not people
		c.Hidden = true
		root.AddCommand(c)
	}
	cli.TakeArgs(root, map[string]cobra.CompletionFunc{
		"AGENT": completeAgents(a), "PERSONA": completePersonas(a), "TREE": completeTrees(a, daemon.TreeStanding),
		"TEMPLATE": completeTemplates(a), "TARGET": completeTargets(a), "LOGIN": completeLogins(a), "DIR": folders,
	})
	return root
}

// usageTemplate is the part of a command's help below its description.
const usageTemplate = `Usage:{{if or (not .HasAvailableSubCommands) (ne .Args nil)}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND [flags]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{if .Groups}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{else}}

Commands:{{range $commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Everywhere:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

// Main runs the program. It runs commands for other programs before it sets up the command line. The commands that
// agents wait for at every turn never reach Main, because package early has already run them.
func Main(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case desktop.Command:
			if len(args) == 1 {
				return desktop.Main(os.Stdin, os.Stderr)
			}
		case "scripted-agent": // stands in for a CLI agent in the demo
			return scripted.Main(args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return Run(ctx, args, os.Getenv, os.Stdin, os.Stdout, os.Stderr)
}
