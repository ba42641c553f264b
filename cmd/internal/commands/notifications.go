package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/words"
)

func notificationsCommand(a *cli.App) *cobra.Command {
	show := func(c *cobra.Command, _ []string) error { return showNotifications(c.Context(), a) }
	c := a.WithJSON(&cobra.Command{
		Use:   "notifications",
		Short: "Choose your notifications, and see whether they arrive",
		Long: `Show which notifications you get and where, or choose them. Failures are always told. They appear on
the desktop of the daemon's host and are sent to notify.targets of config.yaml: ntfy, webhooks and
commands. Where there is no desktop, they are in the daemon's log and in the event log.`,
		Example: `  understudy notifications
  understudy notifications set --waiting=false
  understudy notifications test phone`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.NoCommand(c, args[0])
			}
			return nil
		},
		RunE: show,
	})
	c.AddCommand(a.WithJSON(&cobra.Command{
		Use:     "show",
		Short:   "Show which notifications are on",
		Example: "  understudy notifications show --json",
		RunE:    show,
	}), setNotificationsCommand(a), testNotificationCommand(a))
	return c
}

func setNotificationsCommand(a *cli.App) *cobra.Command {
	var waiting, completed bool
	c := a.WithJSON(&cobra.Command{
		Use:   "set",
		Short: "Choose which notifications are on; what is not named stays as it is",
		Example: `  understudy notifications set --waiting=false
  understudy notifications set --waiting --completed=false`,
		RunE: func(c *cobra.Command, _ []string) error {
			var change notices.PreferenceChange
			if c.Flags().Changed("waiting") {
				change.Waiting = &waiting
			}
			if c.Flags().Changed("completed") {
				change.Completed = &completed
			}
			if change == (notices.PreferenceChange{}) {
				return cli.Usagef("nothing to set: --waiting or --completed is missing")
			}
			p, err := a.Client().SetNotificationPreferences(c.Context(), change)
			return printPreferences(a, p, err)
		},
	})
	c.Flags().BoolVar(&waiting, "waiting", false, "notify when an agent waits for you in a dialog, or a pipeline for your approval")
	c.Flags().BoolVar(&completed, "completed", false, "notify when a handoff or a pipeline is done")
	for _, name := range []string{"waiting", "completed"} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions([]string{"true", "false"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
	return c
}

func testNotificationCommand(a *cli.App) *cobra.Command {
	return a.WithJSON(&cobra.Command{
		Use:   "test [TARGET]",
		Short: "Have the daemon send a notification now: to the desktop, or to a target",
		Example: `  understudy notifications test
  understudy notifications test phone`,
		RunE: func(c *cobra.Command, args []string) error {
			return testNotification(c.Context(), a, strings.Join(args, ""))
		},
	})
}

func showNotifications(ctx context.Context, a *cli.App) error {
	c := a.Client()
	p, err := c.NotificationPreferences(ctx)
	if err := printPreferences(a, p, err); err != nil || a.JSON {
		return err
	}
	all, err := c.NotificationTargets(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	a.UI(a.Stdout).Printf("\n")
	return printList(a, all, nil, "", []string{"TARGET", "TYPE", "TAKES", "STATE", "LAST SENT", "LAST ERROR"}, func(t *notices.TargetReport) []string {
		sent, failure := "never", ""
		if t.LastSentAt != nil {
			sent = words.Ago(*t.LastSentAt)
		}
		if t.LastError != nil && t.State != "ok" {
			failure = *t.LastError
		}
		return []string{t.Name, t.Type, strings.Join(t.Levels, ", "), t.State, sent, failure}
	})
}

func printPreferences(a *cli.App, p tell.Preferences, err error) error {
	return told(a, p, err, func(u *term.UI) error {
		state := map[bool]string{true: "on", false: "off"}
		desktop := "on"
		if !p.Desktop {
			desktop = "off by notify.desktop in config.yaml: notifications are in the daemon's log"
		}
		u.Fields("errors", "always on", "waiting", state[p.Waiting], "completed", state[p.Completed], "desktop", desktop)
		return nil
	})
}

func testNotification(ctx context.Context, a *cli.App, target string) error {
	got, err := a.Client().TestNotification(ctx, target)
	return told(a, got, err, func(u *term.UI) error {
		switch {
		case target != "" && got.Error != nil:
			return fmt.Errorf("%s was not reached: %s", words.Terminal(target), words.Terminal(*got.Error))
		case target != "":
			u.Printf("sent to %s\n", words.Terminal(target))
		case got.Error != nil:
			u.Printf("written to the %s alone: %s\n", words.Terminal(got.Channel), words.Terminal(*got.Error))
		case got.Channel == "desktop":
			u.Printf("shown on the desktop\n")
		default:
			u.Printf("written to the %s alone: notify.desktop in config.yaml is off\n", words.Terminal(got.Channel))
		}
		return nil
	})
}
