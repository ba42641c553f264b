// Package cli is what all commands share: the world that one lives in (streams, environment, data directory), its errors
// and exit, how it finds the agent that a word names, and what a shell completes. A command is one process and one
// goroutine unless its comment says otherwise.
package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// ServeFlags are the flags of serve; an empty one leaves the setting as it is.
type ServeFlags struct {
	Listen, DatabaseURL, Host, Config string
	Public, Verbose                   bool
}

// Settings loads the settings of a data directory, and has the flags win.
func (a *App) Settings(root string, f ServeFlags) (serve.Settings, error) {
	path := cmp.Or(f.Config, a.Getenv("UNDERSTUDY_CONFIG"))
	named := path != ""
	if !named {
		path = filepath.Join(root, "config.yaml")
	}
	s, err := serve.LoadSettings(path, named, a.Getenv)
	if err != nil {
		return s, err
	}
	s.Listen = cmp.Or(f.Listen, s.Listen)
	s.DatabaseURL = cmp.Or(f.DatabaseURL, s.DatabaseURL)
	return s, nil
}

// App is the world that a command lives in, and the flags that all commands share.
type App struct {
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Connect makes a client of the daemon at a socket; nil: [api.NewClient].
	Connect func(socket string) *api.Client

	DataFlag string // --data
	JSON     bool   // --json
	Started  bool   // the command line was understood; what goes wrong from here on is no usage error
}

// UsageError is a command line that cannot be meant.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ErrSilent ends a command with exit code 1 when all has been said.
var ErrSilent = errors.New("failed")

// badValue matches the library's error for a flag's value that can't be read.
var badValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^invalid argument .* for "(?:-\w, )?--([^"]+)" flag: `)
})

// FlagError says in a sentence what is wrong with a flag.
func FlagError(c *cobra.Command, err error) error {
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

// UsageTemplate is what stands below the description of a command in its help.
const UsageTemplate = `Usage:{{if or (not .HasAvailableSubCommands) (ne .Args nil)}}
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

// Group makes a command that only has commands below it.
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

// WithJSON gives a command that prints data its --json flag.
func (a *App) WithJSON(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&a.JSON, "json", false, "print JSON")
	return c
}

// ExactArgs wants the named arguments, no more and no fewer.
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

// MaxArgs wants at most so many arguments.
func MaxArgs(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("%q is one argument too many", args[n])
		}
		return nil
	}
}

// DataRoot is the data directory's path, absolute. It need not exist.
func (a *App) DataRoot() (string, error) {
	path := a.DataFlag
	if path == "" {
		path = a.Getenv("UNDERSTUDY_DATA")
	}
	if path == "" {
		return data.Default(a.Getenv, os.Geteuid())
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", path, err)
	}
	return abs, nil
}

// Client returns a client of the daemon of the data directory.
func (a *App) Client() (*api.Client, error) {
	root, err := a.DataRoot()
	if err != nil {
		return nil, err
	}
	if a.Connect == nil {
		return api.NewClient(SocketIn(root)), nil
	}
	return a.Connect(SocketIn(root)), nil
}

// SocketIn is data.Dir.Socket of a data directory that a client must not make: data.Open would.
func SocketIn(root string) string { return filepath.Join(root, "run", "understudy.sock") }

// TmuxSocketIn is data.Dir.TmuxSocket likewise.
func TmuxSocketIn(root string) string { return filepath.Join(root, "run", "tmux.sock") }

// PrintJSON prints v, indented.
func (a *App) PrintJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (a *App) UI(out io.Writer) *term.UI {
	terminal := term.IsTerminal(out) && a.Getenv("TERM") != "dumb"
	return &term.UI{
		Out: out, Terminal: terminal, Colour: terminal && a.Getenv("NO_COLOR") == "",
		Home: a.Getenv("HOME"), WithData: a.WithData,
	}
}

// PaneSize is the size of a pane for the terminal that the command is used at; zeros if there is none.
func (a *App) PaneSize() (columns, rows int) {
	for _, stream := range []any{a.Stdin, a.Stdout, a.Stderr} {
		if columns, rows := term.Size(stream); columns > 0 {
			return daemon.PaneSize(columns, rows)
		}
	}
	return 0, 0
}
