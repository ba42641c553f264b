package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/proc"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/tmux"
)

func popupCommand(a *cli.App) *cobra.Command {
	var key string
	var unbind, force bool
	c := &cobra.Command{
		Use:   "popup",
		Short: "Open top in a popup of your own tmux, or bind a key to that",
		Long: `Open top in a popup of your own tmux, over whatever you are doing there; q closes it. It needs tmux
3.2 or newer. With --bind a key of your running tmux server opens it, after the prefix key, until
that server ends; the line for ~/.tmux.conf that is printed binds it for good. Nothing else of your
tmux is changed. A key that does something already is bound with --force only.`,
		Example: "  understudy popup\n  understudy popup --bind u     # then: Ctrl-b u\n  understudy popup --unbind",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case unbind && (key != "" || force), force && key == "":
				return cli.Usagef("--force goes with --bind, and --unbind with nothing")
			case unbind:
				return unbindPopup(c.Context(), a)
			case key != "":
				return bindPopup(c.Context(), a, key, force)
			}
			return openPopup(c.Context(), a)
		},
	}
	c.Flags().StringVar(&key, "bind", "", "bind this `key`, written as in ~/.tmux.conf")
	c.Flags().BoolVar(&unbind, "unbind", false, "unbind all keys that open this popup")
	c.Flags().BoolVar(&force, "force", false, "bind the key even if it does something else now")
	return c
}

// inPopup is the flag of top that says that top is in a popup. It also marks the bindings that are ours.
const inPopup = "--in-popup"

// popupWords is the tmux command that opens a popup with top. directory may be a format of tmux.
func popupWords(a *cli.App, root, directory string) ([]string, error) {
	binary, err := proc.OwnBinary()
	if err != nil {
		return nil, err
	}
	if path, err := exec.LookPath("understudy"); err == nil { // by the name that survives an upgrade
		if real, err := filepath.EvalSymlinks(path); err == nil && real == binary && filepath.IsAbs(path) {
			binary = path
		}
	}
	// With -EE the popup stays if top fails, so that the reason can be read.
	top := proc.CommandLine{binary, "top", inPopup, "--data", root}
	return []string{"display-popup", "-EE", "-w", "95%", "-h", "95%", "-d", directory, top.String()}, nil
}

// ownTmux returns the person's own tmux server, in which this command runs, after a check that it can show popups.
func ownTmux(ctx context.Context, a *cli.App) (server *tmux.Server, socket, root string, err error) {
	socket, _, ok := tmux.FromEnv(a.Getenv("TMUX"))
	if !ok {
		return nil, "", "", errors.New("you are not inside tmux: start tmux first, or use `understudy top` here")
	}
	if root, err = a.DataRoot(); err != nil {
		return nil, "", "", err
	}
	if socket == data.At(root).TmuxSocket() {
		return nil, "", "", errors.New("this is the tmux server of the agents: run this in a tmux of your own, or use `understudy top`")
	}
	if server, err = tmux.New(tmux.Config{Socket: socket, Foreign: true}); err != nil {
		return nil, "", "", err
	}
	version, err := server.Version(ctx)
	if errors.Is(err, tmux.ErrTooOld) {
		err = fmt.Errorf("your tmux server is version %s, and popups need 3.2: install a newer tmux and start its server anew (`tmux kill-server` ends the old one with all that runs in it), or use `understudy top`", version)
	}
	return server, socket, root, err
}

func openPopup(ctx context.Context, a *cli.App) error {
	_, socket, root, err := ownTmux(ctx, a)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	words, err := popupWords(a, root, strings.ReplaceAll(here, "#", "##")) // tmux reads a format there
	if err != nil {
		return err
	}
	bin, err := exec.LookPath("tmux")
	if err != nil {
		return tmux.ErrMissing
	}
	return runInFront(bin, append([]string{"tmux", "-u", "-N", "-S", socket}, words...), term.Known(os.Environ()))
}

func bindPopup(ctx context.Context, a *cli.App, key string, force bool) error {
	server, _, root, err := ownTmux(ctx, a)
	if err != nil {
		return err
	}
	before, err := server.Bound(ctx, key)
	switch {
	case errors.Is(err, tmux.ErrBadKey):
		return cli.Usagef("--bind %s: %v", key, err)
	case err != nil:
		return err
	case before != "" && !isPopup(before) && !force:
		return fmt.Errorf("%s is bound in your tmux, to %q: choose another key, or add --force", key, before)
	}
	words, err := popupWords(a, root, "#{pane_current_path}")
	if err != nil {
		return err
	}
	if err := server.Bind(ctx, key, words...); err != nil {
		return err
	}
	line := "bind-key"
	for _, w := range append([]string{key}, words...) {
		line += " " + confQuote(w)
	}
	return say(a, "The prefix key and then %s open top, until this tmux server ends. For good, add this line to ~/.tmux.conf:\n\n%s", key, line)
}

func unbindPopup(ctx context.Context, a *cli.App) error {
	server, _, _, err := ownTmux(ctx, a)
	if err != nil {
		return err
	}
	all, err := server.Bindings(ctx)
	if err != nil {
		return err
	}
	var keys []string
	for _, b := range all {
		if isPopup(b.Command) {
			if err := server.Unbind(ctx, b.Key); err != nil {
				return fmt.Errorf("unbinding %s: %w", b.Key, err)
			}
			keys = append(keys, b.Key)
		}
	}
	if len(keys) == 0 {
		return say(a, "no key of this tmux server opens top in a popup")
	}
	return say(a, "Unbound: %s. Remove the line from ~/.tmux.conf too; what else a key did there is back when tmux reads that file again.", strings.Join(keys, ", "))
}

// isPopup reports whether a binding is ours.
func isPopup(command string) bool {
	return strings.HasPrefix(command, "display-popup") && strings.Contains(command, inPopup)
}

// confQuote quotes a word for tmux.conf.
func confQuote(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t'\"\\#$;~{}%"):
		return word
	case !strings.Contains(word, "'"):
		return "'" + word + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(word) + `"`
}
