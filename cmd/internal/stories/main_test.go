package stories

import (
	_ "github.com/understudyd/understudy/cmd/internal/early" // The test binary acts as understudy too.

	"flag"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/cmd/internal/scripted/scriptedtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// afterTests run after all tests of this process: they end what the tests share.
var afterTests []func()

// TestMain lets the test binary act as `understudy` too: the agents and hooks of daemons inside it run it.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test."):
		time.Local = time.UTC // what commands print for people is in local time
		// The tests wait for other processes most of the time. What the command line says overrides it.
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
		// On the disk, whose paths are short: they are part of texts that are typed whole only if they are short.
		os.Exit(wardentest.RunIn("", func() int {
			code := m.Run()
			for _, end := range afterTests {
				end()
			}
			return code
		}))
	case len(os.Args) > 2 && os.Args[1] == "crash-serve":
		os.Exit(crashServe(os.Args[2:]))
	case os.Args[1] == "scripted-agent":
		os.Exit(scriptedtest.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(commands.Main(os.Args[1:]))
}

var must, holds, wantErr = wardentest.Must, wardentest.Holds, wardentest.WantErr

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	wardentest.Equal(t, what, got, want)
}
