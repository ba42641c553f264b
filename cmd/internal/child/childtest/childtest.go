// Package childtest observes processes in tests of package child, and of the packages that use child.
package childtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// Family is a script that starts a child. The child ignores SIGTERM and holds the output open. The files child and
// leader get the process ids of the two.
const Family = `sh -c 'trap "" TERM; echo $$ >child.new; mv child.new child; while :; do sleep 1000; done' &
echo $$ >leader.new; mv leader.new leader; `

// AwaitFile waits until a file exists.
func AwaitFile(t testing.TB, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not appear", path)
		case <-tick.C:
		}
	}
}

// WantGone waits up to five seconds for the end of the processes whose ids stand in the files. A killed process
// disappears only after the kernel has ended it.
func WantGone(t testing.TB, pidFiles ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, path := range pidFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := tmux.FindProcess(pid)
		if errors.Is(err, tmux.ErrNoProcess) {
			continue
		}
		if err == nil {
			err = p.Wait(ctx)
		}
		if err != nil {
			t.Errorf("%s: process %d is still there: %v", filepath.Base(path), pid, err)
		}
	}
}
