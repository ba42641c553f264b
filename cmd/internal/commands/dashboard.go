package commands

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/child"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

func dashboardCommand(a *cli.App) *cobra.Command {
	var open, list, revoke bool
	c := a.WithJSON(&cobra.Command{
		Use:   "dashboard [--logins | --revoke [LOGIN...]]",
		Short: "Print a link that opens the dashboard in a browser",
		Long: `Print a link to the dashboard. The link works once, within an hour, and signs the browser in. The
browser stays signed in as long as you use it each day, and for 30 days at most. It must run on this
machine, or reach the daemon's port through a tunnel such as ssh -L 7433:127.0.0.1:7433 HOST.

--logins lists the browsers that are signed in. --revoke signs out the browsers of these logins;
without a login it signs out all.`,
		Example: `  understudy dashboard
  understudy dashboard --open
  understudy dashboard --revoke               # signs all browsers out`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, ids []string) error {
			switch {
			case len(ids) > 0 && !revoke:
				return cli.Usagef("%q is one argument too many", ids[0])
			case revoke:
				return revokeLogins(c.Context(), a, ids)
			case list:
				return listLogins(c.Context(), a)
			}
			return showDashboard(c.Context(), a, open)
		},
	})
	c.Flags().BoolVar(&open, "open", false, "open the link in the desktop's browser")
	c.Flags().BoolVar(&list, "logins", false, "list the browsers that are signed in")
	c.Flags().BoolVar(&revoke, "revoke", false, "sign out the browsers of the named logins, or all")
	c.MarkFlagsMutuallyExclusive("open", "logins", "revoke")
	return c
}

func listLogins(ctx context.Context, a *cli.App) error {
	list, err := a.Client().Logins(ctx)
	return printList(a, list, err, "no browser is signed in: `understudy dashboard` prints a link that signs one in",
		[]string{"LOGIN", "BROWSER", "FROM", "SIGNED IN", "LAST USED", "ENDS"},
		func(l *api.Login) []string {
			return []string{l.ID, l.Browser, l.From, words.Ago(l.CreatedAt), words.Ago(l.UsedAt), term.Stamp(&l.ExpiresAt)}
		})
}

func revokeLogins(ctx context.Context, a *cli.App, ids []string) error {
	gone, err := a.Client().RevokeLogins(ctx, ids...)
	said := []string{"no browser was signed in"}
	for i, l := range gone {
		said = append(said[:i], fmt.Sprintf("signed out: %s (%s)", l.Browser, l.ID))
	}
	return answer(a, gone, err, "%s", strings.Join(said, "\n"))
}

func showDashboard(ctx context.Context, a *cli.App, open bool) error {
	link, err := a.Client().DashboardLink(ctx, api.LinkFor{Here: open})
	if open && err == nil {
		return openBrowser(ctx, a, link.URL)
	}
	return answer(a, link, err, "%s", link.URL)
}

// openBrowser makes the desktop open a link by way of a file that only its owner can read. The link must not be an
// argument of a process, because every user of the machine can read arguments, and the first person who uses the link is
// let in. If the desktop opens nothing, openBrowser prints the link.
//
// The file stays until the link is used. Only the daemon notices the use of a link, so the daemon removes the file. It
// also removes the file when it starts, because all older links have ended then. A link that nobody uses ends within an
// hour.
func openBrowser(ctx context.Context, a *cli.App, url string) error {
	root, err := a.DataRoot()
	if err != nil {
		return err
	}
	page := serve.LinkPage(data.At(root))
	text := fmt.Sprintf("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\"><title>understudy</title>", html.EscapeString(url))
	if err := data.WriteFile(page, []byte(text), 0o600); err != nil {
		return err
	}
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	bin, err := child.LookPath(command, []string{"PATH=" + a.Getenv("PATH")})
	if err == nil {
		err = exec.CommandContext(ctx, bin, page).Run()
	}
	if err != nil {
		os.Remove(page) // a person uses a printed link instead, wherever their browser is
		link, failed := a.Client().DashboardLink(ctx, api.LinkFor{})
		if failed != nil {
			return failed
		}
		return say(a, "%s\n(`%s` did not open it: %v)", link.URL, command, err)
	}
	return say(a, "the dashboard opens in your browser")
}
