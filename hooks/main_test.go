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
	want, err := os.ReadFile(path)
	must(t, err)
	equal(t, path+" differs (go test ./hooks -update writes it anew)", got, want)
}

// shortDir makes a directory whose sockets have paths of at most 107 bytes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "us")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

var must, equal = wardentest.Must, wardentest.Equal
