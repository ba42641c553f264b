// Command agent is the scripted agent of the tests. It starts in a fraction of the time that understudy takes. It is test data, so
// that `go install ./cmd/...` installs no program of that name.
package main

import (
	"os"

	"github.com/understudyd/understudy/cmd/internal/scripted/scriptedtest"
)

func main() {
	os.Exit(scriptedtest.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
