// Package early runs the commands that an agent waits for at every turn, and --version, before most of the program's packages
// prepare themselves. To prepare them takes several times as long as the commands. It runs in the goroutine that starts the
// program, and ends the process when it has run a command.
//
// Go prepares packages in the order of their import paths, each as soon as all that it imports is ready
// (https://go.dev/ref/spec#Program_initialization). This package imports little, so its turn comes before that of
// all that needs package net: the HTTP server, the database, the metrics, the dashboard. It must not import what those import.
package early

import (
	"os"

	"github.com/understudyd/understudy/cmd/internal/build"
	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

func init() {
	if code, mine := run(os.Args[1:]); mine {
		os.Exit(code)
	}
}

// run runs the command that the arguments name. mine is false if the arguments name no command of this package.
func run(args []string) (code int, mine bool) {
	if len(args) == 1 && args[0] == "--version" {
		if _, err := os.Stdout.WriteString(build.Line()); err != nil {
			return 1, true
		}
		return 0, true
	}
	if code, mine := hooks.Main(args); mine {
		return code, true
	}
	return inside.Main(args)
}
