// Package tmuxtest owns what tests need of terminals: a private real tmux server, a fake one in memory,
// and one suite that both must pass.
package tmuxtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// patience limits every wait for something outside the test. It is long, because only a failing test
// waits that long.
const patience = 30 * time.Second

// Server returns a tmux server for this test. The server and all its panes end with the test. If tmux
// is missing, the test fails.
func Server(tb testing.TB) *tmux.Server {
	tb.Helper()
	if _, err := tmux.Check(tb.Context(), ""); err != nil {
		tb.Fatalf("%v (from the source tree: go run ./cmd/understudy doctor --fix)", err)
	}
	dir, err := os.MkdirTemp("", "us") // tb.TempDir can be too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := tmux.New(tmux.Config{Socket: filepath.Join(dir, "tmux.sock"), Timeout: patience})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { killServer(tb, s) })
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// killServer ends the panes first: a program may ignore the hangup that it gets when the server ends.
func killServer(tb testing.TB, s *tmux.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	panes, err := s.List(ctx)
	if err != nil {
		tb.Errorf("list at the end: %v", err)
	}
	for _, pane := range panes {
		if err := s.Kill(ctx, pane.Ref); err != nil {
			tb.Errorf("kill at the end: %v", err)
		}
	}
	if err := s.KillServer(ctx); err != nil {
		tb.Errorf("kill of the server at the end: %v", err)
	}
}

// Eventually waits until the condition holds, and fails the test if it never does.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	wardentest.Eventually(tb, what, holds)
}
