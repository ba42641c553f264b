// Command understudy-hook runs an agent's hooks and status line, and starts the agent. understudy has the same commands.
// But an agent waits for each of them at every turn, and understudy-hook starts several times as fast, because it links
// few other packages.
package main

import (
	"io"
	"os"

	"github.com/understudyd/understudy/cmd/internal/inside"
	"github.com/understudyd/understudy/hooks"
)

const usage = `usage: understudy-hook hook|statusline|launch ...

Agents of understudy run it at every turn. It does the same as understudy hook
and understudy statusline, and starts faster: see their --help.
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
