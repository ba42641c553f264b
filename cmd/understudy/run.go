package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/data"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is the world that a command lives in, and the flags that all commands share.
type app struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	// connect makes a client of the daemon at a socket; nil: [api.NewClient].
	connect func(socket string) *api.Client

	dataFlag string // --data
	json     bool   // --json
	started  bool   // the command line was understood; what goes wrong from here on is no usage error
}

// usageError is a command line that cannot be meant.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errSilent ends a command with exit code 1 when all has been said.
var errSilent = errors.New("failed")

// run runs one command line and returns the exit code: 0 done, 1 failed, 2 wrong usage.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&app{getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr}).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	stderr := a.stderr
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if word, ok := unknownCommand(err); ok && !a.started {
		err = noCommand(cmd, word)
	}
	var wrong *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errSilent):
		return exitFailed
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "understudy: interrupted; what was asked for goes on")
		return exitFailed
	case errors.As(err, &wrong) && strings.HasSuffix(wrong.message, "?"): // the way out is in it
		fmt.Fprintf(stderr, "understudy: %s\n", wrong.message)
		return exitUsage
	case !a.started || errors.As(err, &wrong):
		fmt.Fprintf(stderr, "understudy: %s: see `%s --help`\n", sentence(err), cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "understudy: %s\n", a.withData(sentence(err)+hint(err)))
	return exitFailed
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "understudy",
		Short: "Supervises CLI coding agents in tmux and hands their work on",
		Long: `Understudy runs CLI coding agents in tmux panes, each playing a persona, and hands the work of
one that is full, stuck or done over to its successor: the agent writes a document, is shut down,
and a fresh agent of the same persona goes on from there.

A daemon and all that belongs to it live in one data directory: --data, else $UNDERSTUDY_DATA, else
for root /var/lib/understudy/data, and for others understudy/data in $XDG_DATA_HOME, which is
~/.local/share where it is not set.`,
		Example: `  understudy demo                                       # watch a handoff from start to end
  understudy serve                                      # the daemon, in the foreground
  understudy agent start developer-con-1 --cwd ~/app    # an agent that plays a persona
  understudy handoff developer-con-1 --wait             # its work goes to a successor
  understudy pipeline run quick_fix --prompt TODO       # personas in sequence, one feeding the next`,
		Version:       build.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// They are told by noCommand, in the sentence.
		DisableSuggestions: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.SetVersionTemplate(build.Line())
	root.PersistentFlags().StringVar(&a.dataFlag, "data", "", "data `directory` (default $UNDERSTUDY_DATA, else see understudy --help)")
	root.AddGroup(
		&cobra.Group{ID: "begin", Title: "To begin with:"},
		&cobra.Group{ID: "work", Title: "Agents and their work:"},
		&cobra.Group{ID: "setup", Title: "Around it:"},
	)
	root.SetHelpCommandGroupID("setup")
	for group, commands := range map[string][]*cobra.Command{
		"begin": {a.demoCommand(), a.serveCommand()},
		"work":  {a.personaCommand(), a.agentCommand(), a.handoffCommand(), a.pipelineCommand(), a.topCommand(), a.dashboardCommand(), a.eventsCommand(), a.auditCommand()},
		"setup": {a.doctorCommand(), a.notificationsCommand(), a.pruneCommand(), a.serviceCommand(), a.completionCommand(), a.versionCommand(), a.hooksCommand(), a.hookCommand(), a.statusLineCommand(), a.mcpCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	return root
}

// badValue matches the library's error for a flag's value that can't be read.
var badValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^invalid argument .* for "(?:-\w, )?--([^"]+)" flag: `)
})

// flagError says in a sentence what is wrong with a flag.
func flagError(c *cobra.Command, err error) error {
	m := badValue().FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	f := c.Flag(m[1])
	if f != nil && f.Value.Type() == "bool" {
		return fmt.Errorf("--%s must be true or false", f.Name)
	}
	if f == nil || f.Value.Type() != "int" && f.Value.Type() != "int64" {
		return err
	}
	from := 1
	if f.Name == "after" { // of everything, too
		from = 0
	}
	return fmt.Errorf("--%s must be a number from %d", f.Name, from)
}

// usageTemplate is what stands below the description of a command in its help.
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

// group makes a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(c, args[0])
			}
			return usagef("%s needs a command", c.CommandPath())
		},
	}
	c.AddCommand(commands...)
	return c
}

// withJSON gives a command that prints data its --json flag.
func (a *app) withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return c
}

// exactArgs wants the named arguments, no more and no fewer.
func exactArgs(names ...string) cobra.PositionalArgs {
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

// maxArgs wants at most so many arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("%q is one argument too many", args[n])
		}
		return nil
	}
}

// dataRoot is the data directory's path, absolute. It need not exist.
func (a *app) dataRoot() (string, error) {
	path := a.dataFlag
	if path == "" {
		path = a.getenv("UNDERSTUDY_DATA")
	}
	if path == "" {
		return data.Default(a.getenv, os.Geteuid())
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", path, err)
	}
	return abs, nil
}

// client returns a client of the daemon of the data directory.
func (a *app) client() (*api.Client, error) {
	root, err := a.dataRoot()
	if err != nil {
		return nil, err
	}
	if a.connect == nil {
		return api.NewClient(socketIn(root)), nil
	}
	return a.connect(socketIn(root)), nil
}

// socketIn is data.Dir.Socket of a data directory that a client must not make: data.Open would.
func socketIn(root string) string { return filepath.Join(root, "run", "understudy.sock") }

// tmuxSocketIn is data.Dir.TmuxSocket likewise.
func tmuxSocketIn(root string) string { return filepath.Join(root, "run", "tmux.sock") }

// printJSON prints v, indented.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
