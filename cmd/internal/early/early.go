// Package early runs the commands that an agent waits for at every turn, before Go initializes most of the program's
// packages. That initialization takes several times as long as the commands. Package early runs in the goroutine that
// starts the program. When it has run a command, it ends the process.
//
// Go initializes packages in the order of their import paths, each as soon as all packages that it imports are
// initialized (https://go.dev/ref/spec#Program_initialization). This package imports few packages, and none with a path
// behind "regexp" that the others need as well, so Go initializes it before them: the HTTP server, the database, the
// metrics, the dashboard, the tables of the runtimes.
package early

import (
	"os"

	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

func init() {
	if code, mine := run(os.Args[1:]); mine {
		os.Exit(code)
	}
}

// run runs the command that args names. mine is false if args names no command of this package.
func run(args []string) (code int, mine bool) {
	if code, mine := hooks.Main(args); mine {
		return code, true
	}
	return inside.Main(args)
}
