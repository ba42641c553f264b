// Command understudy supervises CLI coding agents in tmux and hands their work on. See
// `understudy --help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/cmd/internal/scripted"
)

func main() { os.Exit(dispatch(os.Args[1:])) }

// dispatch sends the commands that agents and the desktop wait for on their way before anything else
// is set up.
func dispatch(args []string) int {
	if code, ok := inside.Main(args); ok {
		return code
	}
	if len(args) > 0 {
		switch args[0] {
		case "--version": // all commands would be made, to say a word
			if len(args) == 1 {
				fmt.Printf(versionLine, version())
				return exitDone
			}
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
