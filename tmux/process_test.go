package tmux_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// sleeper starts a process that ends with the test at the latest.
func sleeper(t *testing.T) (tmux.Process, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return found(t, cmd.Process.Pid), cmd
}

func found(t *testing.T, pid int) tmux.Process {
	t.Helper()
	return value(tmux.FindProcess(pid))(t)
}

func TestProcessEnds(t *testing.T) {
	t.Parallel()
	p, cmd := sleeper(t)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := p.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if !p.Alive() {
		t.Error("not alive")
	}
	must(t, p.Signal(syscall.SIGTERM))
	wg.Wait()
	// Nobody has waited for the child: it is a zombie, which counts as ended.
	if p.Alive() {
		t.Error("a zombie is alive")
	}
	failed(tmux.FindProcess(p.PID))(t, "find of a zombie", tmux.ErrNoProcess)
	wantErr(t, "signal to a zombie", p.Signal(syscall.SIGTERM), tmux.ErrNoProcess)
	_ = cmd.Wait()
	must(t, errors.Join(p.Wait(t.Context())))
	wantErr(t, "signal to nobody", p.Signal(syscall.SIGTERM), tmux.ErrNoProcess)
}

// executesCommand makes this binary execute itself several times, from a thread that is not its first. In the end it
// reports that and waits until its standard input is closed.
const executesCommand = "executes"

func executes(times string) {
	n, err := strconv.Atoi(times)
	if err != nil || n <= 0 {
		fmt.Println("done")
		_, _ = io.Copy(io.Discard, os.Stdin) // ends when the parent closes it
		os.Exit(0)
	}
	runtime.LockOSThread() // most likely the first thread, so that another one executes
	for range 8 {          // busy threads take longer to end
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	}
	failed := make(chan error)
	go func() {
		failed <- syscall.Exec(os.Args[0], []string{os.Args[0], executesCommand, strconv.Itoa(n - 1)}, os.Environ())
	}()
	fmt.Println(<-failed)
	os.Exit(1)
}

// TestProcessExecutes: a process that executes another program stays the same process and is alive all the time.
func TestProcessExecutes(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], executesCommand, "20") // a readStat that ignores threads would take it for ended dozens of times
	in := value(cmd.StdinPipe())(t)
	out := value(cmd.StdoutPipe())(t)
	must(t, cmd.Start())
	p := found(t, cmd.Process.Pid)
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- line
	}()
	for looks := 1; ; looks++ {
		select {
		case line := <-said:
			if line != "done\n" || looks < 100 {
				t.Errorf("after %d looks the process says %q", looks, line)
			}
			_ = in.Close()
			must(t, cmd.Wait())
			return
		default:
		}
		if now, err := tmux.FindProcess(p.PID); err != nil || now != p {
			t.Fatalf("look %d: %+v, %v, want %+v", looks, now, err, p)
		}
	}
}

// TestProcessIDReused: a process that has the id of an old one is not the old one.
func TestProcessIDReused(t *testing.T) {
	t.Parallel()
	p, _ := sleeper(t)
	old := tmux.Process{PID: p.PID, Start: p.Start - 1}
	if old.Alive() || old.IsDescendantOf(os.Getpid()) {
		t.Error("the old one is alive")
	}
	wantErr(t, "signal", old.Signal(syscall.SIGKILL), tmux.ErrNoProcess)
	must(t, old.Wait(t.Context()))
	if !p.Alive() {
		t.Error("the new one was killed")
	}
}

func TestProcessWaitLeaksNothing(t *testing.T) {
	p, _ := sleeper(t)
	warm, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.Wait(warm)
	goroutines, fds := runtime.NumGoroutine(), openFiles(t)
	cause := errors.New("no patience")
	for range 50 {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- p.Wait(ctx) }()
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Fatalf("got %v, want the cause", err)
		}
	}
	tmuxtest.Eventually(t, "all goroutines and descriptors are gone", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= fds
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries := value(filepath.Glob("/dev/fd/*"))(t)
	return len(entries)
}

func TestFindProcess(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, -1, 1<<22 + 5} {
		failed(tmux.FindProcess(pid))(t, fmt.Sprintf("process %d", pid), tmux.ErrNoProcess)
	}
	me, err := tmux.FindProcess(os.Getpid())
	if err != nil || !me.Alive() || !me.IsDescendantOf(me.PID) || !me.IsDescendantOf(os.Getppid()) || !me.IsDescendantOf(1) {
		t.Errorf("got %+v, %v", me, err)
	}
	child, _ := sleeper(t)
	if !child.IsDescendantOf(me.PID) || me.IsDescendantOf(child.PID) || child.IsDescendantOf(0) {
		t.Error("descent is wrong")
	}
}

// TestInFront: a program in a shell is in front until it is stopped; then the shell is.
func TestInFront(t *testing.T) {
	t.Parallel()
	s := tmuxtest.Server(t)
	shell := made(t, s, tmux.Spec{Session: "a", Dir: "/", Argv: []string{"env", "PS1=ready> ", "sh", "-i"}})
	line := func(text string) {
		t.Helper()
		must(t, s.Paste(t.Context(), shell.Ref, text, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}))
	}
	tmuxtest.Eventually(t, "a prompt", func() bool {
		view, err := s.Look(t.Context(), shell.Ref)
		return err == nil && strings.Contains(view.Screen, "ready>")
	})
	own := found(t, shell.PID)
	line(`sh -c 'echo "cat is $$"; exec cat'`)
	var pid int
	tmuxtest.Eventually(t, "cat's process id is shown", func() bool {
		view, err := s.Look(t.Context(), shell.Ref)
		for row := range strings.Lines(view.Screen) {
			if n, _ := fmt.Sscanf(row, "cat is %d", &pid); n == 1 {
				return err == nil
			}
		}
		return false
	})
	tmuxtest.Eventually(t, "the shell is behind", func() bool { return !own.InFront() })
	cat := found(t, pid)
	if !cat.InFront() || cat.Stopped() {
		t.Error("cat is not in front")
	}
	must(t, cat.Signal(syscall.SIGTSTP))
	tmuxtest.Eventually(t, "cat is stopped, and the shell in front", func() bool { return cat.Stopped() && !cat.InFront() && own.InFront() })
	if !cat.Alive() {
		t.Error("a stopped process has not ended")
	}
	line("fg")
	tmuxtest.Eventually(t, "cat is in front again", func() bool { return !cat.Stopped() && cat.InFront() && !own.InFront() })
	if (tmux.Process{PID: pid, Start: cat.Start + 1}).InFront() {
		t.Error("another process of that id is in front")
	}
}
