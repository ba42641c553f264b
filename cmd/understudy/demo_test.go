package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// output is what a command prints, while it runs.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// await waits until the output matches, and returns the groups.
func (o *output) await(t *testing.T, done <-chan int, pattern string) []string {
	t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(eventually)
	for {
		if m := re.FindStringSubmatch(o.String()); m != nil {
			return m
		}
		select {
		case <-o.more:
		case code := <-done:
			t.Fatalf("ended with %d before %q:\n%s", code, pattern, o)
		case <-late:
			t.Fatalf("no %q:\n%s", pattern, o)
		}
	}
}

// startDemo runs a demo in this process.
func startDemo(t *testing.T, args ...string) (stdout, stderr *output, interrupt func(), done chan int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stderr, done = newOutput(), newOutput(), make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"demo"}, args...), noEnv, strings.NewReader(""), stdout, stderr)
	}()
	return stdout, stderr, cancel, done
}

func TestDemoInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	stdout, stderr, interrupt, done := startDemo(t)
	dir := stdout.await(t, done, `successor in (\S+)\n`)[1]
	stdout.await(t, done, `✓ agent 1 `)
	started := processes(t, filepath.Join(dir, "d"))
	interrupt()
	if code := await1(t, done); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if want := "understudy: interrupted; what the demo had made is removed\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
	nothingLeft(t, dir, started)
}

func await1(t *testing.T, done <-chan int) int {
	t.Helper()
	select {
	case code := <-done:
		return code
	case <-time.After(eventually):
		t.Fatal("does not end")
		return 0
	}
}

// processes returns the servers of a data directory: PostgreSQL and tmux.
func processes(t *testing.T, dir string) []tmux.Process {
	t.Helper()
	postgres, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := exec.Command("tmux", "-S", filepath.Join(dir, "run", "tmux.sock"), "display-message", "-p", "#{pid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []tmux.Process
	for _, text := range []string{string(postgres), string(server)} {
		line, _, _ := strings.Cut(text, "\n")
		found = append(found, process(t, line))
	}
	return found
}

func process(t *testing.T, number string) tmux.Process {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tmux.FindProcess(pid)
	if err != nil {
		t.Fatalf("process %d: %v", pid, err)
	}
	return p
}

// nothingLeft wants the folder and the processes of a demo gone.
func nothingLeft(t *testing.T, dir string, started []tmux.Process) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	for _, p := range started {
		if p.Alive() {
			t.Errorf("process %d still runs", p.PID)
		}
	}
}
