// Command understudy-hook is what agents run at every turn: their hooks and their status line, and
// what starts them. It does what the same commands of understudy do, and starts several times as
// fast, for it is linked with little else.
package main

import (
	"io"
	"os"

	"github.com/understudyd/understudy/cmd/internal/inside"
)

const usage = `usage: understudy-hook hook|statusline|launch ...

Agents of understudy run it at every turn. See understudy hook --help and
understudy statusline --help: it does the same, and starts faster.
`

func main() {
	code, ok := inside.Main(os.Args[1:])
	if !ok {
		_, _ = io.WriteString(os.Stderr, usage)
		code = 2
	}
	os.Exit(code)
}
