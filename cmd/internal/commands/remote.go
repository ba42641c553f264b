package commands

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cli"
	"github.com/understudyd/understudy/cmd/internal/term"
)

func remoteCommand(a *cli.App) *cobra.Command {
	var code bool
	var base string
	c := &cobra.Command{
		Use:   "remote",
		Short: "Say how to use the dashboard from a phone or another machine, safely",
		Long: `Print what to do to use this daemon's dashboard from another machine or a phone: a tunnel by ssh,
tailscale serve, or a proxy with TLS. Each of them leaves the daemon on the loopback address.

--qr prints a link to the dashboard as a QR code. The link works once, within an hour, and signs
the browser in: show it to nobody. Its address is the setting public_url, or --url.`,
		Example: `  understudy remote
  understudy remote --qr
  understudy remote --qr --url http://localhost:7433     # the phone has a tunnel of its own`,
		RunE: func(c *cobra.Command, _ []string) error { return showRemote(c.Context(), a, code, base) },
	}
	c.Flags().BoolVar(&code, "qr", false, "print a link that signs a browser in, as a QR code")
	c.Flags().StringVar(&base, "url", "", "the `address` at which the other machine finds the daemon, in place of public_url")
	return c
}

func showRemote(ctx context.Context, a *cli.App, code bool, base string) error {
	if base != "" && !code {
		return cli.Usagef("--url is for --qr")
	}
	client := a.Client()
	link, err := client.DashboardLink(ctx, api.LinkFor{})
	if err != nil {
		return err
	}
	if code {
		return printCode(a, &link, base)
	}
	local, err := url.Parse(link.URL)
	if err != nil {
		return fmt.Errorf("address of the dashboard: %w", err)
	}
	public := ""
	if link.PublicURL != nil {
		public, _, _ = strings.Cut(*link.PublicURL, "/login?")
	}
	return say(a, "%s", remoteText(local, public, thisMachine(a)))
}

// thisMachine returns how ssh names this machine and its user.
func thisMachine(a *cli.App) string {
	host, err := os.Hostname()
	if err != nil {
		host = "THIS-MACHINE"
	}
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + host
	}
	return host
}

// remoteText says what to do for a daemon that a browser of this machine finds at local. public is the setting public_url,
// or "".
func remoteText(local *url.URL, public, machine string) string {
	address, port := local.Host, local.Port()
	var b strings.Builder
	fmt.Fprintf(&b, "The daemon listens on %s.", address)
	if ip := net.ParseIP(local.Hostname()); local.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		b.WriteString(" Other machines reach it there without\nencryption. Better listen on 127.0.0.1, and choose one of these ways.")
	} else {
		b.WriteString(" No other machine reaches it, and that is\ngood. Choose one of these ways.")
	}
	name := "NAME.TAILNET.ts.net"
	proxied := "desk.example.org"
	if u, err := url.Parse(public); err == nil && u.Hostname() != "" {
		name, proxied = u.Hostname(), u.Hostname()
	}
	fmt.Fprintf(&b, `

1. A tunnel by ssh: nothing to set up. On the other machine, or in an ssh app:
     ssh -L %[1]s:%[2]s %[3]s
   There, open a link of `+"`understudy dashboard`"+` with localhost:%[1]s in it.

2. Tailscale: for your own devices only, with TLS. Here:
     tailscale serve --bg %[1]s
   It prints the address. Write it into config.yaml and start the daemon again:
     public_url: https://%[4]s

3. A proxy with TLS, such as Caddy, on this machine:
     caddy reverse-proxy --from %[5]s --to %[2]s
   Anybody who reaches it sees the sign-in page alone. In config.yaml:
     public_url: https://%[5]s
   A proxy on another machine needs an address of the daemon that it reaches:
     understudy serve --listen ADDRESS:%[1]s %[6]s \
       --host-name %[5]s

Browsers can sign in over https and on localhost only: elsewhere a browser gives
pages no access to cryptography.
`, port, address, machine, name, proxied, api.PublicFlag)
	if public != "" {
		fmt.Fprintf(&b, "\npublic_url is %s.\nTo sign a phone in: `understudy remote --qr`", public)
	} else {
		b.WriteString("\nThen, to sign a phone in: `understudy remote --qr`")
	}
	return b.String()
}

// printCode prints a link as a QR code.
func printCode(a *cli.App, link *api.DashboardLink, base string) error {
	local, err := url.Parse(link.URL)
	if err != nil {
		return fmt.Errorf("address of the dashboard: %w", err)
	}
	if base == "" && link.PublicURL == nil {
		return fmt.Errorf("a phone does not reach %s: set public_url in config.yaml, or give --url; `understudy remote` says how", local.Host)
	}
	text := ""
	if link.PublicURL != nil {
		text = *link.PublicURL
	}
	if base != "" {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return cli.Usagef("--url %q is not an address such as https://desk.example.org", base)
		}
		text = strings.TrimSuffix(base, "/") + local.RequestURI()
	}
	code, err := qr.Encode(text, qr.L) // the least redundancy makes the smallest code, which a terminal of 80x24 can show
	if err != nil {
		return fmt.Errorf("QR code: %w", err)
	}
	fmt.Fprint(a.Stdout, codeText(code, term.IsTerminal(a.Stdout)))
	return say(a, "%s\nIt works once, until %s.", text, term.Stamp(&link.ExpiresAt))
}

// quiet is the width of the empty border of a QR code, in its dots. The standard wants four; readers do with two.
const quiet = 2

// codeText draws a QR code with two rows of dots in each line. In a terminal it is black on white, whatever the terminal's
// colours are.
func codeText(code *qr.Code, coloured bool) string {
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		if coloured {
			b.WriteString("\x1b[38;5;16;48;5;231m")
		}
		for x := -quiet; x < code.Size+quiet; x++ {
			switch upper, lower := code.Black(x, y), code.Black(x, y+1); {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		if coloured {
			b.WriteString("\x1b[0m")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
