package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
)

// serveFlags are the flags of serve; an empty one leaves the setting as it is.
type serveFlags struct {
	listen, databaseURL, host, config string
	public, verbose                   bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon, in the foreground",
		Long: `Run the daemon, in the foreground. Agents live in a tmux server of the daemon's own: they go on
when the daemon stops, and the next one takes up what was open.

Settings come from flags, else from UNDERSTUDY_LISTEN, UNDERSTUDY_DATABASE_URL and so on, else from
config.yaml in the data directory, else they are the defaults.`,
		Example: `  understudy serve
  understudy serve --data ./.data --listen none         # the unix socket alone
  understudy serve --database-url postgres://db/understudy --host build-7`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), f) },
	}
	c.Flags().StringVar(&f.listen, "listen", "", "`address` for HTTP besides the unix socket, or none (default 127.0.0.1:7433)")
	c.Flags().BoolVar(&f.public, strings.TrimPrefix(api.PublicFlag, "--"), false, "allow an address that other machines reach: the token travels in the clear, and who has it types into shells")
	c.Flags().StringVar(&f.databaseURL, "database-url", "", "`URL` of a PostgreSQL to use instead of a private one")
	c.Flags().StringVar(&f.host, "host", "", "`id` of this host, instead of the one that the data directory keeps")
	c.Flags().StringVar(&f.config, "config", "", "settings `file` (default config.yaml in the data directory)")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log details")
	return c
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	root, err := a.dataRoot()
	if err != nil {
		return err
	}
	s, err := a.settings(root, f)
	if err != nil {
		return err
	}
	binary, err := ownBinary()
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if f.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	if builtByGoRun(binary) {
		log.Warn("this binary goes when `go run` ends, and agents that live on need it: build one with `go build ./cmd/understudy`")
	}
	// Who interrupts a second time does not want to wait for a tidy end.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	hook, err := findHookProgram(binary)
	if err != nil {
		log.Info("agents run this program at every turn, which a smaller one does faster: see understudy doctor", "reason", err)
	}
	return serve(ctx, serveConfig{
		Root: root, Settings: s, Host: firstNonEmpty(f.host, a.getenv("UNDERSTUDY_HOST")), AllowPublic: f.public,
		Environ: os.Environ(), Getenv: a.getenv, Binary: binary, HookBinary: hook, Log: log,
		Ready: func(up *serving) { a.printServing(up, root) },
	})
}

// settings loads the settings of a data directory, and has the flags win.
func (a *app) settings(root string, f serveFlags) (settings, error) {
	path := firstNonEmpty(f.config, a.getenv("UNDERSTUDY_CONFIG"))
	named := path != ""
	if !named {
		path = filepath.Join(root, "config.yaml")
	}
	s, err := loadSettings(path, named, a.getenv)
	if err != nil {
		return s, err
	}
	s.Listen = firstNonEmpty(f.listen, s.Listen)
	s.DatabaseURL = firstNonEmpty(f.databaseURL, s.DatabaseURL)
	return s, nil
}

// printServing says where everything is, once requests are answered.
func (a *app) printServing(up *serving, root string) {
	address := "none"
	if up.Address != nil {
		address = "http://" + up.Address.String()
	}
	look := "understudy agent list"
	if a.dataFlag != "" {
		look += " --data " + shellQuote(root)
	}
	fmt.Fprintf(a.stdout, "understudy serves\n  data       %s\n  host       %s\n  socket     %s\n  address    %s\n", root, up.Host, up.Data.Socket(), address)
	if up.Address != nil {
		fmt.Fprintf(a.stdout, "  dashboard  %s\n", a.dashboardHint(up))
	}
	fmt.Fprintf(a.stdout, "  look       %s\n", look)
}

// dashboardHint says how to open the dashboard: by a link that is made for that, unless what is printed here
// is kept, for whoever reads it could get in before the operator does.
func (a *app) dashboardHint(up *serving) string {
	const command = "understudy dashboard"
	if a.runByInit() && !isTerminal(a.stdout) {
		return "run: " + command
	}
	link, err := up.Dashboard()
	if err != nil {
		return "run: " + command
	}
	return link.URL + "  (opens it once, within an hour; then: " + command + ")"
}

// runByInit says whether systemd or launchd has set this process's environment, which it gives to the
// terminals of a desktop as well.
func (a *app) runByInit() bool {
	job := a.getenv("XPC_SERVICE_NAME") // "0" in a terminal
	return a.getenv("INVOCATION_ID") != "" || a.getenv("JOURNAL_STREAM") != "" || job != "" && job != "0"
}

// ownBinary is the path of this program, without links: agents are launched with it.
func ownBinary() (string, error) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("path of this program: %w", err)
	}
	return path, nil
}

// inBuildCache matches where `go run` puts its programs: a temporary folder that goes with it, or
// the build cache, which has a folder per checksum and is trimmed now and then.
var inBuildCache = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/go-build\d*/|/[0-9a-f]{64}-d/`) })

// builtByGoRun reports whether the binary stands where `go run` puts it, so that it will not last.
// That of a test, which stands there as well, is not meant.
func builtByGoRun(path string) bool {
	return inBuildCache().MatchString(path) && !strings.HasSuffix(path, ".test")
}

// shellQuote quotes a word for a POSIX shell, if it needs that.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
