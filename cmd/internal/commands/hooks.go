package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/hooks"
)

// hookCommand adds the command to the help. Package early runs the command before the command line is set up.
func hookCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "hook EVENT",
		Short: "What an agent's hook runs: hands the event to the daemon",
		Long: strings.TrimSpace(`What an agent's hook runs. It always exits 0, at once.

` + hooks.Usage),
		Example:            "  understudy hook session-start < event.json",
		Args:               cobra.ArbitraryArgs, // it always exits 0
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			hooks.Command(args, a.Getenv, a.Stdin, a.Stdout, a.Stderr)
			return nil
		},
	}
}

type hooksFlags struct {
	settings string
	dryRun   bool
}

func hooksCommand(a *cli.App) *cobra.Command {
	var f hooksFlags
	install := &cobra.Command{
		Use:   "install",
		Short: "Put understudy's hooks and /handoff into the user settings of Claude Code",
		Long: `Put understudy's hooks into the user settings of Claude Code, so that agents which you start in tmux
yourself register with the daemon. Agents that understudy starts need no installation. Everything
else in the file stays as it is, byte for byte, and a backup is written beside the file.

The hooks come with the command /handoff [focus] for every agent: commands/handoff.md beside the
settings. An agent that is given /handoff is handed over to a successor.`,
		Example: "  understudy hooks install --dry-run\n  understudy hooks install",
		RunE:    func(c *cobra.Command, _ []string) error { return installHooks(c.Context(), a, f) },
	}
	uninstall := &cobra.Command{
		Use:     "uninstall",
		Short:   "Take understudy's hooks and /handoff out again, and nothing else",
		Example: "  understudy hooks uninstall",
		RunE:    func(*cobra.Command, []string) error { return uninstallHooks(a, f) },
	}
	status := a.WithJSON(&cobra.Command{
		Use:     "status",
		Short:   "Say which hooks are installed, what they run, and whether /handoff is",
		Example: "  understudy hooks status",
		RunE:    func(c *cobra.Command, _ []string) error { return hooksStatus(c.Context(), a, f) },
	})
	scripts := &cobra.Command{
		Use:   "scripts DIR",
		Short: "Write a script for each event, for settings that you wire by hand",
		Long: `Write a script for each event to a directory, for settings that you wire by hand: for a project, in
dotfiles that you share, or for another CLI with hooks like these. A script finds understudy in
PATH, or where $UNDERSTUDY_BIN says, and does nothing where it is not installed. A file that differs
from the script of its name stays, and is an error.`,
		Example: "  understudy hooks scripts ~/dotfiles/hooks",
		RunE:    func(_ *cobra.Command, args []string) error { return writeScripts(a, args[0]) },
	}
	for _, c := range []*cobra.Command{install, uninstall} {
		c.Flags().BoolVarP(&f.dryRun, "dry-run", "n", false, "show what would change, and change nothing")
	}
	g := cli.Group("hooks", "Install, remove and look at the hooks in the user settings of Claude Code", install, uninstall, status, scripts)
	g.PersistentFlags().StringVar(&f.settings, "settings", "", "settings `file` (default settings.json in $CLAUDE_CONFIG_DIR, else in ~/.claude)")
	return g
}

// settingsPath returns the path of the runtime's user settings file.
func settingsPath(a *cli.App, flag string) (string, error) {
	switch dir, home := a.Getenv("CLAUDE_CONFIG_DIR"), a.Getenv("HOME"); {
	case flag != "":
		return filepath.Abs(flag)
	case dir != "":
		return filepath.Join(dir, "settings.json"), nil
	case home != "":
		return filepath.Join(home, ".claude", "settings.json"), nil
	}
	return "", errors.New("there is no home directory with Claude Code's settings: name the file with --settings")
}

// checkCLI refuses a CLI that is too old for the hooks. One whose version cannot be found out is taken for new enough.
func checkCLI(ctx context.Context, a *cli.App) error {
	version, err := proc.AskVersion(ctx, claudeCode(a))
	if err != nil {
		return nil //nolint:nilerr // it may be installed later
	}
	return hooks.CheckVersion(version)
}

// claudeCode returns the command that config.yaml names for the CLI. If the file cannot be read, claudeCode returns "claude", so
// that the hooks can still be installed.
func claudeCode(a *cli.App) []string {
	if root, err := a.DataRoot(); err == nil {
		if s, err := readSettings(a, root, serveFlags{}); err == nil && len(s.Runtimes["claude"].Command) > 0 {
			return s.Runtimes["claude"].Command
		}
	}
	return []string{"claude"}
}

// disableAll is the setting with which a user stops all hooks.
const disableAll = `"disableAllHooks": true`

func allDisabled(settings []byte) bool {
	var s struct {
		DisableAllHooks bool `json:"disableAllHooks"`
	}
	return json.Unmarshal(hooks.WithoutMark(settings), &s) == nil && s.DisableAllHooks
}

func installHooks(ctx context.Context, a *cli.App, f hooksFlags) error {
	path, err := settingsPath(a, f.settings)
	if err != nil {
		return err
	}
	bin, err := proc.OwnBinary()
	if err != nil {
		return err
	}
	if proc.BuiltByGoRun(bin) {
		return errors.New("hooks would run a binary that goes when `go run` ends: install one with `go install ./cmd/...` and run that")
	}
	o := hooks.InstallOptions{Bin: proc.HookProgramOf(bin), Events: hooks.Events}
	if a.DataFlag != "" || a.Getenv("UNDERSTUDY_DATA") != "" {
		if o.DataDir, err = a.DataRoot(); err != nil {
			return err
		}
	}
	if err := checkCLI(ctx, a); err != nil {
		return err
	}
	before, err := hooks.ReadSettings(path)
	if err != nil {
		return err
	}
	if allDisabled(before) {
		fmt.Fprintf(a.Stderr, "understudy: %s in %s: no hook runs until you take it out\n", disableAll, path)
	}
	plan, err := hooks.PlanInstall(before, o)
	if err != nil {
		return err
	}
	command, err := hooks.ReadSlash(path)
	if err != nil {
		return err
	}
	o.Bin = bin // /handoff runs the whole program
	slash, err := hooks.PlanSlash(command, o)
	if err != nil {
		return err
	}
	if slash.Foreign {
		fmt.Fprintf(a.Stderr, "understudy: %s and stays as it is: move it away and run this again to have ours\n", foreignCommand(slash.Path))
	}
	// The command /handoff needs the hooks. So install it after the hooks, and remove it before them. If this command
	// crashes between the two changes, the next install or uninstall makes the second one.
	return applyHooks(a, f, "hooks are installed already in "+path,
		plan.For(path, time.Now()), slash)
}

func uninstallHooks(a *cli.App, f hooksFlags) error {
	path, err := settingsPath(a, f.settings)
	if err != nil {
		return err
	}
	before, err := hooks.ReadSettings(path)
	if err != nil {
		return err
	}
	plan, err := hooks.PlanUninstall(before)
	if err != nil {
		return err
	}
	command, err := hooks.ReadSlash(path)
	if err != nil {
		return err
	}
	return applyHooks(a, f, "no hooks of ours are installed in "+path,
		hooks.PlanSlashRemoval(command), plan.For(path, time.Now()))
}

// foreignCommand says that the command /handoff in a file is not understudy's.
func foreignCommand(path string) string { return path + " is another command /handoff" }

// applyHooks prints the changes. Unless it is a dry run, it then makes the changes in their order. If no file changes,
// it prints the sentence nothing.
func applyHooks(a *cli.App, f hooksFlags, nothing string, changes ...hooks.Plan) error {
	u := a.UI(a.Stdout)
	changes = slices.DeleteFunc(changes, func(p hooks.Plan) bool { return !p.Changed })
	if len(changes) == 0 {
		u.Printf("%s\n", nothing)
		return nil
	}
	for _, p := range changes {
		printDiff(u, p.Path, p.Before, p.After)
	}
	if f.dryRun {
		u.Printf("nothing was changed: without --dry-run it would be\n")
		return nil
	}
	for _, p := range changes {
		if err := hooks.Apply(p); err != nil {
			return err
		}
		done := "changed"
		if p.After == nil {
			done = "deleted"
		}
		u.Printf("%s   %s\n", done, p.Path)
		if p.Backup != "" {
			u.Printf("backup    %s\n", p.Backup)
		}
		if len(p.Added) > 0 {
			u.Printf("added     %s\n", strings.Join(p.Added, " "))
		}
		if gone := without(p.Removed, p.Added); len(gone) > 0 {
			u.Printf("removed   %s\n", strings.Join(gone, " "))
		}
	}
	return nil
}

// without returns the strings of list that are not in others.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// printDiff prints the difference between the old and the new content of a file.
func printDiff(u *term.UI, path string, before, after []byte) {
	for line := range strings.Lines(string(diff.Diff(path, before, path+" (new)", after))) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff "):
			continue
		case strings.HasPrefix(line, "+"):
			u.Printf("%s\n", u.Green(line))
		case strings.HasPrefix(line, "-"):
			u.Printf("%s\n", u.Red(line))
		default:
			u.Printf("%s\n", line)
		}
	}
}
