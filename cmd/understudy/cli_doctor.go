package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/hooks"
)

func (a *app) doctorCommand() *cobra.Command {
	var fix, yes bool
	c := a.withJSON(&cobra.Command{
		Use:   "doctor",
		Short: "Check what understudy needs, and say how to get it",
		Long: `Check what understudy needs: tmux, PostgreSQL, the data directory, pipelines' templates, hooks
and their program, notifications, git and the agents' CLI. Each finding comes with its fix; it
fails if something is missing that nothing works without.`,
		Example: `  understudy doctor
  understudy doctor --fix               # installs what is missing, after asking
  understudy doctor --fix --yes         # in a script`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), fix, yes) },
	})
	c.Flags().BoolVar(&fix, "fix", false, "install what is missing, through apt-get, dnf or brew")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before that")
	return c
}

func (a *app) doctor(ctx context.Context, fix, yes bool) error {
	if yes && !fix {
		return usagef("--yes is of use with --fix alone")
	}
	if fix {
		if missing := lacking([]finding{checkTmux(ctx), checkPostgres()}); len(missing) > 0 {
			if err := a.install(ctx, missing, yes); err != nil {
				return err
			}
		}
	}
	found := a.examine(ctx)
	if a.json {
		if err := a.printJSON(found); err != nil {
			return err
		}
	} else {
		a.printFindings(found)
	}
	for _, f := range found {
		if f.State == findingMissing {
			return errSilent
		}
	}
	return nil
}

// examine looks at everything.
func (a *app) examine(ctx context.Context) []finding {
	found := []finding{checkTmux(ctx)}
	root, err := a.dataRoot()
	if err != nil {
		return append(found, checkPostgres(), finding{Name: "data directory", State: findingMissing, Detail: sentence(err), Fix: "name one with --data"})
	}
	s, err := a.settings(root, serveFlags{})
	switch {
	case err != nil:
		found = append(found, finding{Name: "settings", State: findingMissing, Detail: sentence(err), Fix: "correct it"})
		s = defaultSettings()
	default:
		found = append(found, ok("settings", "%s", a.settingsFile(root)))
	}
	if s.DatabaseURL != "" {
		found = append(found, checkShared(ctx, s.DatabaseURL))
	} else {
		found = append(found, checkPostgres())
	}
	return append(found, checkData(root, s.DatabaseURL == ""), checkTemplates(root), a.checkDaemon(ctx, root), a.checkHooks(ctx), checkHookProgram(),
		checkRuntime(ctx, s), checkGit(os.Environ()), checkNotifications(s, a.getenv))
}

// settingsFile names the settings file in use.
func (a *app) settingsFile(root string) string {
	path := firstNonEmpty(a.getenv("UNDERSTUDY_CONFIG"), filepath.Join(root, "config.yaml"))
	if _, err := os.Stat(path); err != nil {
		return "defaults; there is no " + path
	}
	return path
}

// checkShared tries a write to a shared database.
func checkShared(ctx context.Context, url string) finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := db.Probe(ctx, url); err != nil {
		return finding{Name: "PostgreSQL", State: findingMissing, Detail: sentence(err), Fix: "mend that, or correct database_url"}
	}
	return ok("PostgreSQL", "a shared one, by database_url; it takes writes")
}

// checkData looks at the data directory, or at the folder in which it would be made.
func checkData(root string, private bool) finding {
	name := "data directory"
	bad := func(format string, args ...any) finding {
		return finding{Name: name, State: findingMissing, Detail: fmt.Sprintf(format, args...), Fix: "choose another with --data or UNDERSTUDY_DATA"}
	}
	if longest := len(root) + longestSocket; longest > 103 {
		return bad("the path of %s is %d bytes too long for the sockets in it", root, longest-103)
	}
	there := root
	for {
		info, err := os.Stat(there)
		if err == nil && !info.IsDir() {
			return bad("%s is not a folder", there)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return bad("%s", sentence(err))
		}
		there = filepath.Dir(there)
	}
	if private && os.Geteuid() == 0 && !passable(there) {
		return bad("PostgreSQL refuses root, and the account that it gets cannot pass through %s", there)
	}
	if there != root {
		return ok(name, "%s, made when the daemon first starts", root)
	}
	return ok(name, "%s", root)
}

func (a *app) checkDaemon(ctx context.Context, root string) finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := api.NewClient(socketIn(root))
	defer c.Close()
	health, err := c.Ready(ctx)
	if err != nil {
		f := finding{Name: "daemon", State: findingWarning, Detail: sentence(err), Fix: "understudy serve"}
		told, ok := errors.AsType[*daemon.Error](err)
		if ok && (strings.HasPrefix(told.Code, "database_") || told.Code == "host_waiting") {
			f.Fix = "it goes on by itself once that is over"
		}
		return f
	}
	if own := build.Version(); health.Version != own {
		return finding{Name: "daemon", State: findingWarning, Detail: fmt.Sprintf("it is version %s and this is %s", health.Version, own), Fix: "stop it and start it again; agents go on"}
	}
	return ok("daemon", "ready, version %s", health.Version)
}

func (a *app) checkHooks(ctx context.Context) finding {
	f := finding{Name: "hooks", State: findingWarning, Fix: "understudy hooks install"}
	r, err := a.hooksReport(ctx, hooksFlags{})
	switch {
	case err != nil:
		f.Detail = sentence(err)
		return f
	case r.Disabled: // those of agents that understudy starts neither
		f.Detail, f.Fix = disableAll+" keeps every hook from running", "take it out of "+r.Settings
		return f
	case len(r.Events) == 0:
		f.Detail = "not installed; needed only for agents that you start yourself"
		return f
	case r.Problem != "":
		f.Detail, _, _ = strings.Cut(r.Problem, ": ")
		return f
	}
	return ok("hooks", "%d events in %s", len(r.Events), r.Settings)
}

// checkRuntime looks for the CLI that agents are.
func checkRuntime(ctx context.Context, s settings) finding {
	command := s.Runtimes["claude"].Command
	if len(command) == 0 {
		return finding{Name: "claude", State: findingWarning, Detail: "not configured", Fix: "set runtimes.claude.command in config.yaml"}
	}
	version, err := claudeVersion(ctx, command)
	if err != nil {
		return finding{Name: "claude", State: findingWarning, Detail: sentence(err), Fix: "install Claude Code, or set runtimes.claude.command in config.yaml"}
	}
	if err := hooks.CheckVersion(version); err != nil {
		return finding{Name: "claude", State: findingWarning, Detail: sentence(err), Fix: "claude update"}
	}
	return ok("claude", "%s", printable(version))
}

func checkNotifications(s settings, getenv func(string) string) finding {
	if !s.Notify.Desktop {
		return ok("notifications", "off by notify.desktop: alerts are in the log")
	}
	if why := newDesktop(true, getenv, "").absent(); why != "" {
		return finding{Name: "notifications", State: findingWarning, Detail: why + "; alerts are in the log", Fix: "run the daemon in your desktop session"}
	}
	return ok("notifications", "on the desktop")
}

func (a *app) printFindings(found []finding) {
	u := a.ui(a.stdout)
	for _, f := range found {
		mark := u.green("✓")
		switch f.State {
		case findingWarning:
			mark = u.yellow("!")
		case findingMissing:
			mark = u.red("✗")
		}
		u.printf("%s %-15s %s\n", mark, f.Name, printable(f.Detail))
		if f.Fix != "" {
			fix := f.Fix
			if strings.HasPrefix(fix, "understudy ") {
				fix = strings.Trim(a.withData("`"+fix+"`"), "`")
			}
			u.printf("  %-15s %s %s\n", "", u.dim("fix:"), fix)
		}
	}
}
