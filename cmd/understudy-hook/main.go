// Command understudy-hook is what agents run at every turn: their hooks and their status line, and
// what starts them. It does what the same commands of understudy do, and starts several times as
// fast, for it is linked with little else.
package main

import (
	"io"
	"os"

	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

const usage = `usage: understudy-hook hook|statusline|launch ...

Agents of understudy run it at every turn. See understudy hook --help and
understudy statusline --help: it does the same, and starts faster.
`

func main() {
	args := os.Args[1:]
	for _, run := range []func([]string) (code int, mine bool){hooks.Main, inside.Main} {
		if code, mine := run(args); mine {
			os.Exit(code)
		}
	}
	_, _ = io.WriteString(os.Stderr, usage)
	os.Exit(2)
}
