// Package inside has two of the commands that understudy runs in an agent's pane: the status line, and the launch of the
// agent; and the segment of tmux's status line. The hooks are in package hooks. The agent waits for its status line at every
// turn, tmux runs the segment every few seconds, and the start of the process takes most of that time. Two programs link this package. understudy-hook has little else and starts fast; understudy
// has the commands for machines on which understudy-hook is not installed.
package inside

import (
	"context"
	"os"
)

// Main runs the command that args names, and returns its exit code. The programs call Main before they set up anything
// else. mine is false if args names no command of this package.
func Main(args []string) (code int, mine bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch {
	case args[0] == "statusline" && len(args) == 1: // with arguments, cobra prints the help
		return runStatusLine(), true
	case args[0] == "statusbar":
		if o, ok := parseStatusBar(args[1:]); ok { // with other arguments, cobra runs the command
			return StatusBar(context.Background(), o, os.Getenv, os.Stdout, os.Stderr), true
		}
	case args[0] == "launch":
		return launchAgent(args[1:], os.Environ(), os.Stderr), true
	}
	return 0, false
}
