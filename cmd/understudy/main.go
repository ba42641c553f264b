// Command understudy supervises CLI coding agents in tmux and hands their work on. See
// `understudy --help`.
package main

import (
	"os"

	"github.com/understudyd/understudy/cmd/internal/commands"
	_ "github.com/understudyd/understudy/cmd/internal/early" // runs the hooks before the rest is prepared
)

func main() { os.Exit(commands.Main(os.Args[1:])) }
