package stories

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// output holds what a command prints while it runs.
type output struct {
	cmdtest.Printed
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Printed.Write(p)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return n, err
}

// await waits until the output matches the pattern, and returns the groups.
func (o *output) await(t *testing.T, done <-chan int, pattern string) []string {
	t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(cmdtest.Eventually)
	for {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m
		}
		select {
		case <-o.more:
		case code := <-done:
			t.Fatalf("the command ended with exit code %d before it printed %q:\n%s", code, pattern, o)
		case <-late:
			t.Fatalf("the output has no match of %q:\n%s", pattern, o)
		}
	}
}

// demoRun is a demo that runs in this process.
type demoRun struct {
	stdout, stderr *output
	interrupt      func()
	done           chan int // its exit code
}

func startDemo(t *testing.T, args ...string) *demoRun {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &demoRun{newOutput(), newOutput(), cancel, make(chan int, 1)}
	go func() {
		r.done <- commands.Run(ctx, append([]string{"demo"}, args...), cmdtest.NoEnv, strings.NewReader(""), r.stdout, r.stderr)
	}()
	return r
}

// awaitPrinted waits until the demo has printed a match, and returns the groups.
func (r *demoRun) awaitPrinted(t *testing.T, pattern string) []string {
	t.Helper()
	return r.stdout.await(t, r.done, pattern)
}

// endByInterrupt interrupts the demo. It checks the exit code and what the demo says of that, and that nothing of the
// demo is left.
func (r *demoRun) endByInterrupt(t *testing.T, code int, said, dir string, started []tmux.Process) {
	t.Helper()
	r.interrupt()
	equal(t, "exit code", awaitExit(t, r.done), code)
	equal(t, "stderr", r.stderr.String(), said)
	wantNothingLeft(t, dir, started)
}

// removed is what a demo prints if it is interrupted before its end.
const removed = "understudy: interrupted; what the demo had made is removed\n"

func TestDemoInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	r := startDemo(t)
	dir := r.awaitPrinted(t, `successor in (\S+)\n`)[1]
	r.awaitPrinted(t, `✓ agent 1 `)
	r.endByInterrupt(t, commands.ExitFailed, removed, dir, serversOf(t, filepath.Join(dir, "d")))
}

func awaitExit(t *testing.T, done <-chan int) int {
	t.Helper()
	select {
	case code := <-done:
		return code
	case <-time.After(cmdtest.Eventually):
		t.Fatal("the demo does not end")
		return 0
	}
}

// serversOf returns the servers of a data directory: PostgreSQL and tmux.
func serversOf(t *testing.T, dir string) []tmux.Process {
	t.Helper()
	postgres := value(os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid")))(t)
	server := value(exec.Command("tmux", "-S", filepath.Join(dir, "run", "tmux.sock"), "display-message", "-p", "#{pid}").Output())(t)
	var found []tmux.Process
	for _, text := range []string{string(postgres), string(server)} {
		line, _, _ := strings.Cut(text, "\n")
		found = append(found, findProcess(t, line))
	}
	return found
}

func findProcess(t *testing.T, number string) tmux.Process {
	t.Helper()
	pid := value(strconv.Atoi(number))(t)
	return value(tmux.FindProcess(pid))(t)
}

// wantNothingLeft fails unless the folder and the processes of a demo are gone.
func wantNothingLeft(t *testing.T, dir string, started []tmux.Process) {
	t.Helper()
	wardentest.Failed(os.Stat(dir))(t, dir, fs.ErrNotExist)
	for _, p := range started {
		if p.Alive() {
			t.Errorf("process %d still runs", p.PID)
		}
	}
}
