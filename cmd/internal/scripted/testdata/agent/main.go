// Command agent is the scripted agent as a program of its own: it starts in a fraction of the time
// that understudy, which does the same as `understudy scripted-agent`, takes.
package main

import (
	"os"

	"github.com/understudyd/understudy/cmd/internal/scripted"
)

func main() { os.Exit(scripted.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)) }
