//go:build e2e

package stories

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestDemoKilledLeavesNothing: It leaves neither its servers nor its agent.
func TestDemoKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(cmdtest.MainProgram(t), "demo", "--keep")
	stdout := newOutput()
	cmd.Stdout, cmd.Stderr = stdout, stdout
	must(t, cmd.Start())
	done := make(chan int, 1)
	go func() { _ = cmd.Wait(); done <- cmd.ProcessState.ExitCode() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	dir := stdout.await(t, done, `successor in (\S+)\n`)[1]
	stdout.await(t, done, `Still running`)
	started := serversOf(t, filepath.Join(dir, "d"))
	agents := value(exec.Command("tmux", "-S", filepath.Join(dir, "d", "run", "tmux.sock"), "list-panes", "-a", "-F", "#{pane_pid}").Output())(t)
	for text := range strings.FieldsSeq(string(agents)) {
		started = append(started, findProcess(t, text))
	}
	must(t, cmd.Process.Kill())
	awaitExit(t, done)
	tmuxtest.Eventually(t, "removal of the demo's folder", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	})
	wantNothingLeft(t, dir, started)
}
