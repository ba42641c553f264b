package hooks

import (
	"flag"
	"os"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestMain lets the test binary run as the command, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("HOOKS_TEST_COMMAND") != "" {
		os.Exit(Command(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(wardentest.Run(m.Run))
}

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want := value(os.ReadFile(path))(t)
	equal(t, path+" differs (go test ./hooks -update writes it anew)", got, want)
}

var must, equal, wantErr, shortDir = wardentest.Must, wardentest.Equal, wardentest.WantErr, wardentest.ShortDir

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
