// Package inside is what understudy runs in an agent's pane: its hooks, its status line, and what
// starts it. The agent waits for the first two at every turn, so most of what they take is the
// start of a process. Two programs are made of this package: understudy-hook, which is nothing
// else, and understudy, for where the other one was not installed.
package inside

import (
	"os"

	"github.com/understudyd/understudy/hooks"
)

// Main runs the command that the arguments name, and returns its exit code. It is called before
// anything else is set up. Arguments that name none of this package's are not mine.
func Main(args []string) (code int, mine bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch {
	case args[0] == "hook":
		return hooks.Command(args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr), true
	case args[0] == "statusline" && len(args) == 1: // what has arguments is for the help
		return runStatusLine(), true
	case args[0] == "launch":
		return launchAgent(args[1:], os.Environ(), os.Stderr), true
	}
	return 0, false
}
