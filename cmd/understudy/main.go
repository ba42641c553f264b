// Command understudy supervises CLI coding agents in tmux and hands their work on. See
// `understudy --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/understudyd/understudy/hooks"
)

func main() { os.Exit(dispatch(os.Args[1:])) }

// dispatch sends the commands that agents run on their way before anything else is set up: a
// hook costs the agent its whole run time, at every turn.
func dispatch(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "hook":
			return hooks.Command(args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
		case "statusline":
			if len(args) == 1 {
				return runStatusLine()
			}
		case notifyCommand:
			if len(args) == 1 {
				return notifyDesktop(os.Stdin, os.Stderr)
			}
		case "launch":
			return launchAgent(args[1:], os.Environ(), os.Stderr)
		case "scripted-agent":
			return scriptedAgent(args[1:])
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return run(ctx, args, os.Getenv, os.Stdin, os.Stdout, os.Stderr)
}
