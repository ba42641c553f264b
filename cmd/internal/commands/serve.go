package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/intake"
)

func serveCommand(a *cli.App) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon, in the foreground",
		Long: `Run the daemon, in the foreground. Agents live in a tmux server of the daemon's own. They go on when
the daemon stops, and the next daemon goes on with open handoffs and pipelines.

Each setting comes from a flag, else from a variable such as UNDERSTUDY_LISTEN, else from
config.yaml in the data directory, else from the defaults. The daemon reads the file again at SIGHUP
and at ` + "`understudy reload`" + `.`,
		Example: `  understudy serve
  understudy serve --data ./.data --listen none         # the unix socket alone
  understudy serve --database-url postgres://db/understudy --host build-7`,
		RunE: func(c *cobra.Command, _ []string) error { return runServe(c.Context(), a, f) },
	}
	c.Flags().StringVar(&f.Listen, "listen", "", "`address` for HTTP besides the unix socket, or none (default 127.0.0.1:7433)")
	c.Flags().BoolVar(&f.Public, strings.TrimPrefix(api.PublicFlag, "--"), false, "allow an address that other machines reach: the token travels unencrypted, and whoever has it can type into shells")
	c.Flags().StringArrayVar(&f.HostNames, "host-name", nil, "`name` by which browsers elsewhere call this daemon, as through a proxy; may be repeated (see understudy remote)")
	c.Flags().StringVar(&f.DatabaseURL, "database-url", "", "`URL` of a PostgreSQL to use instead of a private one")
	c.Flags().StringVar(&f.EnvFile, "env-file", "", "`file` with variables for the daemon and its agents, NAME=value on each line, which nobody else may read")
	c.Flags().StringVar(&f.Host, "host", "", "`id` of this host, in place of the id in the data directory")
	c.Flags().StringVar(&f.Config, "config", "", "settings `file` (default config.yaml in the data directory)")
	c.Flags().BoolVar(&f.Resume, "resume", false, "open the sessions again of agents that died with the machine or their tmux server before this start")
	c.Flags().BoolVarP(&f.Verbose, "verbose", "v", false, "log details")
	return c
}

// serveFlags are the flags of serve. An empty flag does not change its setting.
type serveFlags struct {
	Listen, DatabaseURL, Host, Config, EnvFile string
	HostNames                                  []string
	Public, Resume, Verbose                    bool
}

// readSettings loads the settings of a data directory. Flags override them.
func readSettings(a *cli.App, root string, f serveFlags) (serve.Settings, error) {
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
	s.Resume = s.Resume || f.Resume
	if len(f.HostNames) > 0 {
		s.HostNames = f.HostNames
	}
	return s, s.CheckRemote()
}

func runServe(parent context.Context, a *cli.App, f serveFlags) error {
	// A hangup ends every other command. It makes the daemon read its settings again.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(parent), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(hidePassword(f.DatabaseURL), readEnvFile(f.EnvFile)); err != nil {
		return err
	}
	root, err := a.DataRoot()
	if err != nil {
		return err
	}
	s, err := readSettings(a, root, f)
	if err != nil {
		return err
	}
	binary, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
	if proc.BuiltByGoRun(binary) {
		log.Warn("`go run` removes this binary when it ends, and agents that live on need it: build one with `go build ./cmd/understudy`")
	}
	// Let a second interrupt end the process at once.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	hook, err := proc.FindHookProgram(binary)
	if err != nil {
		log.Info("agents run this program at every turn, and understudy-hook would start faster: see understudy doctor", "reason", err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	return serve.Run(ctx, serve.Config{
		Root: root, Settings: s, Reread: func() (serve.Settings, error) { return readSettings(a, root, f) }, Host: cmp.Or(f.Host, a.Getenv("UNDERSTUDY_HOST")), AllowPublic: f.Public,
		Environ: os.Environ(), Getenv: a.Getenv, Binary: binary, HookBinary: hook, Log: log,
		Ready: func(up *serve.Serving) {
			printServing(a, up, root)
			go obeyHangups(ctx, a, stop, hangups, up.Daemon, log)
		},
	})
}

// obeyHangups reloads the settings at each SIGHUP, until ctx ends. If the daemon's terminal is gone, the signal has come from
// there, and obeyHangups stops the daemon.
func obeyHangups(ctx context.Context, a *cli.App, stop func(), hangups <-chan os.Signal, d *intake.Daemon, log *slog.Logger) {
	inTerminal := term.IsTerminal(a.Stderr)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if inTerminal && !term.IsTerminal(a.Stderr) {
			stop()
			return
		}
		done, err := d.Reload(daemon.WithCaller(ctx, "signal"))
		if err != nil {
			log.Error("settings not reloaded", "error", err)
			continue
		}
		log.Info("settings reloaded", "changes", len(done.Changes))
	}
}

// printServing prints the address of the daemon, as soon as the daemon answers requests.
func printServing(a *cli.App, up *serve.Serving, root string) {
	address := "none"
	if up.Address != nil {
		address = "http://" + up.Address.String()
	}
	look := "understudy agent list"
	if a.DataFlag != "" {
		look += " --data " + proc.ShellQuote(root)
	}
	fmt.Fprintf(a.Stdout, "understudy serves\n  data       %s\n  host       %s\n  socket     %s\n  address    %s\n", root, up.Host, up.Data.Socket(), address)
	if up.Address != nil {
		fmt.Fprintf(a.Stdout, "  dashboard  %s\n", dashboardHint(a, up))
	}
	fmt.Fprintf(a.Stdout, "  look       %s\n", look)
}

// dashboardHint says how to open the dashboard: by a link, or by the command that prints one. Only a terminal gets a link. All other
// output is kept, in a journal or a file, and whoever reads it there could use the link before the operator.
func dashboardHint(a *cli.App, up *serve.Serving) string {
	const command = "understudy dashboard"
	if !term.IsTerminal(a.Stdout) {
		return "run: " + command
	}
	link, err := up.Dashboard()
	if err != nil {
		return "run: " + command
	}
	return link.URL + "  (opens it once, within an hour; then: " + command + ")"
}
