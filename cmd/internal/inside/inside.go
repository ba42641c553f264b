// Package inside has the commands that understudy runs in an agent's pane besides its hooks: the status line, and the launch of
// the agent. The agent waits for the status line at every turn, and most of its time is the start of a process.
// Two programs link this package: understudy-hook, which has nothing else and starts fast, and understudy, for machines
// on which understudy-hook is not installed.
package inside

import (
	"os"
)

// Main runs the command that the arguments name, and returns its exit code. The programs call it before they set up
// anything else. mine is false if the arguments name no command of this package.
func Main(args []string) (code int, mine bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch {
	case args[0] == "statusline" && len(args) == 1: // with arguments, the help answers
		return runStatusLine(), true
	case args[0] == "launch":
		return launchAgent(args[1:], os.Environ(), os.Stderr), true
	}
	return 0, false
}
