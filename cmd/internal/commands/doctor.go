package commands

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/doctor"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon/words"
)

func doctorCommand(a *cli.App) *cobra.Command {
	var fix, yes bool
	c := a.WithJSON(&cobra.Command{
		Use:   "doctor",
		Short: "Check what understudy needs, and say how to get it",
		Long: `Check what understudy needs: tmux, PostgreSQL, the data directory, pipelines' templates, hooks
and their program, notifications, git and the agents' CLI. Each finding names its fix. The command
fails if something is missing without which nothing works.`,
		Example: `  understudy doctor
  understudy doctor --fix               # installs what is missing, after asking
  understudy doctor --fix --yes         # in a script`,
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, fix, yes) },
	})
	c.Flags().BoolVar(&fix, "fix", false, "install what is missing, through apt-get, dnf or brew")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "install without asking")
	return c
}

func runDoctor(ctx context.Context, a *cli.App, fix, yes bool) error {
	if yes && !fix {
		return cli.Usagef("--yes needs --fix")
	}
	if fix {
		if missing := doctor.Lacking([]doctor.Finding{doctor.CheckTmux(ctx), doctor.CheckPostgres()}); len(missing) > 0 {
			if err := doctor.Install(ctx, a, missing, yes); err != nil {
				return err
			}
		}
	}
	found := examine(ctx, a)
	if a.JSON {
		if err := a.PrintJSON(found); err != nil {
			return err
		}
	} else {
		printFindings(a, found)
	}
	for _, f := range found {
		if f.State == doctor.FindingMissing {
			return cli.ErrSilent
		}
	}
	return nil
}

// examine runs all checks and returns their findings in the order in which they are printed.
func examine(ctx context.Context, a *cli.App) []doctor.Finding {
	found := []doctor.Finding{doctor.CheckTmux(ctx)}
	root, err := a.DataRoot()
	if err != nil {
		return append(found, doctor.CheckPostgres(), doctor.Finding{Name: "data directory", State: doctor.FindingMissing, Detail: cli.Sentence(err), Fix: "name one with --data"})
	}
	c := a.Client()
	defer c.Close()
	s, err := readSettings(a, root, serveFlags{})
	if err != nil {
		found = append(found, doctor.Finding{Name: "settings", State: doctor.FindingMissing, Detail: cli.Sentence(err), Fix: "correct it"})
		s = serve.DefaultSettings()
	} else {
		found = append(found, doctor.OK("settings", "%s", settingsFile(a, root)))
	}
	if s.DatabaseURL != "" {
		found = append(found, doctor.CheckShared(ctx, s.DatabaseURL))
	} else {
		found = append(found, doctor.CheckPostgres())
	}
	found = append(found, doctor.CheckData(root, s.DatabaseURL == ""), doctor.CheckTemplates(root), doctor.CheckDaemon(ctx, c))
	found = append(append(found, checkHooks(ctx, a)...), doctor.CheckHookProgram(), doctor.CheckSandbox(ctx))
	found = append(found, doctor.CheckRuntimes(ctx, s)...)
	found = append(found, checkTrees(ctx, c)...)
	return append(found, doctor.CheckGit(os.Environ()), doctor.CheckNotifications(s, a.Getenv))
}

// settingsFile names the settings file, or says that there is none.
func settingsFile(a *cli.App, root string) string {
	path := cmp.Or(a.Getenv("UNDERSTUDY_CONFIG"), filepath.Join(root, "config.yaml"))
	if _, err := os.Stat(path); err != nil {
		return "defaults; there is no " + path
	}
	return path
}

// checkTrees says how many work trees there are, and how many of them nobody uses. It says nothing without a daemon, or without trees.
func checkTrees(ctx context.Context, c *api.Client) []doctor.Finding {
	list, err := c.Worktrees(ctx, false)
	if err != nil || len(list) == 0 {
		return nil
	}
	idle := 0
	for i := range list {
		if !list[i].InUse {
			idle++
		}
	}
	if idle == 0 {
		return []doctor.Finding{doctor.OK("work trees", "%d, all in use", len(list))}
	}
	return []doctor.Finding{doctor.OK("work trees", "%d, %d of them used by nobody: see `understudy worktree list`", len(list), idle)}
}

// checkHooks looks at the hooks of this shell's settings, and at those of the accounts of agents where something is wrong.
func checkHooks(ctx context.Context, a *cli.App) []doctor.Finding {
	all, err := hooksReports(ctx, a, "")
	if err != nil {
		return []doctor.Finding{{Name: "hooks", State: doctor.FindingWarning, Detail: cli.Sentence(err), Fix: "understudy hooks install"}}
	}
	var found []doctor.Finding
	for i, r := range all {
		f := hooksFinding(r)
		if i == 0 || f.State == doctor.FindingWarning && (r.Disabled || r.Problem != "" || len(r.Broken) > 0) {
			if strings.HasSuffix(f.Fix, "hooks install") {
				f.Fix += ofSettings(r, i)
			}
			found = append(found, f)
		}
	}
	return found
}

func hooksFinding(r hooksReport) doctor.Finding {
	f := doctor.Finding{Name: "hooks", State: doctor.FindingWarning, Fix: "understudy hooks install"}
	switch {
	case r.Disabled: // disableAllHooks also stops the hooks of agents that understudy starts
		f.Detail, f.Fix = disableAll+" keeps every hook from running", "take it out of "+r.Settings
	case len(r.Broken) > 0:
		f.Detail = fmt.Sprintf("Claude Code refuses a hook that is not understudy's, and asks about it at each start: %s", strings.Join(r.Broken, "; "))
		f.Fix = "correct it in " + r.Settings
	case len(r.Events) == 0 && r.Problem == "":
		f.Detail = "not installed; needed only for agents that you start yourself"
	case r.Problem != "":
		f.Detail, _, _ = strings.Cut(r.Problem, ": ")
	default:
		return doctor.OK("hooks", "%d events in %s", len(r.Events), r.Settings)
	}
	return f
}

func printFindings(a *cli.App, found []doctor.Finding) {
	u := a.UI(a.Stdout)
	for _, f := range found {
		mark := u.Green("✓")
		switch f.State {
		case doctor.FindingUntried:
			mark = u.Yellow("?")
		case doctor.FindingWarning:
			mark = u.Yellow("!")
		case doctor.FindingMissing:
			mark = u.Red("✗")
		}
		u.Printf("%s %-15s %s\n", mark, f.Name, words.Terminal(f.Detail))
		if f.Fix != "" {
			fix := f.Fix
			if strings.HasPrefix(fix, "understudy ") {
				fix = strings.Trim(a.WithData("`"+fix+"`"), "`")
			}
			u.Printf("  %-15s %s %s\n", "", u.Dim("fix:"), fix)
		}
	}
}
