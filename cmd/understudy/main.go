// Command understudy supervises CLI coding agents in tmux and hands their work on. See
// `understudy --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/understudyd/understudy/cmd/internal/early" // the hooks, and --version, without the rest
	"github.com/understudyd/understudy/cmd/internal/scripted"
)

func main() { os.Exit(dispatch(os.Args[1:])) }

// dispatch sends the commands that other programs wait for on their way before anything else is set up. Those that are
// waited for at every turn do not come here: package early has run them.
func dispatch(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case notifyCommand:
			if len(args) == 1 {
				return notifyDesktop(os.Stdin, os.Stderr)
			}
		case "scripted-agent": // stands in for a CLI agent in the demo
			return scripted.Main(args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return run(ctx, args, os.Getenv, os.Stdin, os.Stdout, os.Stderr)
}
