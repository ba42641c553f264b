package warden_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// victim makes this binary a test process that starts processes and makes folders, and waits until it is killed.
const victim = "WARDEN_TEST_VICTIM"

func TestMain(m *testing.M) { os.Exit(wardentest.Run(m.Run)) }

// TestVictim is not a test: the other tests run and kill it.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		return
	}
	dir := t.TempDir()
	// The first ends by SIGTERM. The second has a child and ends only by SIGKILL. Each has a session of its own.
	for _, script := range []string{"sleep 1000", "trap '' TERM HUP; while :; do sleep 1000; done"} {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(t, cmd.Start())
		fmt.Println("left", cmd.Process.Pid, dir)
	}
	fmt.Println("left all", os.Getpid())
	<-time.After(time.Minute) // ends even if the test that should kill this process was killed
}

// left is what a victim leaves, by its own report.
type left struct {
	self int
	pids []int
	dirs []string
}

// start runs a command that is a victim or runs a victim.
func start(t *testing.T, cmd *exec.Cmd) left {
	t.Helper()
	cmd.Env = append(os.Environ(), victim+"=1")
	stdout := wardentest.Value(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	var l left
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var pid int
		var dir string
		if _, err := fmt.Sscanf(lines.Text(), "left all %d", &l.self); err == nil {
			return l
		}
		if _, err := fmt.Sscanf(lines.Text(), "left %d %s", &pid, &dir); err == nil {
			l.pids, l.dirs = append(l.pids, pid), append(l.dirs, dir)
		}
	}
	t.Fatal("the victim ended")
	return l
}

// wantNothing waits until all is gone.
func (l left) wantNothing(t *testing.T) {
	t.Helper()
	for _, pid := range append(l.pids, l.self) {
		wardentest.Eventually(t, fmt.Sprintf("end of process %d", pid), func() bool { return gone(pid) })
	}
	for _, dir := range l.dirs {
		own := dir[:strings.LastIndex(dir, "/t/")] // the folder that the victim got
		wardentest.Eventually(t, "removal of "+own, func() bool {
			_, err := os.Stat(own)
			return os.IsNotExist(err)
		})
	}
}

// gone reports whether a process has ended; it may be a zombie.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAKilledTestLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	l := start(t, cmd)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	l.wantNothing(t)
}

// TestAKilledGoCommandLeavesNothing kills `go test`, not the process of the tests.
func TestAKilledGoCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-run=^TestVictim$", "-v", ".")
	l := start(t, cmd)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	l.wantNothing(t)
}

// TestEndLeavesTheRest: End ends no process of a folder that is gone by then, nor of a folder with another name.
func TestEndLeavesTheRest(t *testing.T) {
	t.Parallel()
	w := wardentest.Value(warden.Start())(t)
	removed, watched, other := t.TempDir(), t.TempDir(), t.TempDir()
	alive := func(dir string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"SOME=" + dir + "/below"}
		must(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	a, b, c := alive(removed), alive(watched), alive(other)
	for _, dir := range []string{removed, watched} {
		must(t, w.Watch(dir))
	}
	must(t, os.Remove(removed))
	w.End()
	if gone(a.Process.Pid) || !gone(b.Process.Pid) || gone(c.Process.Pid) {
		t.Errorf("ended: of the removed folder %t, of the watched one %t, of another %t; want the second alone",
			gone(a.Process.Pid), gone(b.Process.Pid), gone(c.Process.Pid))
	}
	if _, err := os.Stat(watched); !os.IsNotExist(err) {
		t.Errorf("the watched folder is there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestWatchRefusesPaths(t *testing.T) {
	t.Parallel()
	w := wardentest.Value(warden.Start())(t)
	defer w.End()
	for _, dir := range []string{"", "/", "relative", "/tmp/a b", "/tmp/*", "/tmp/a\n/etc", "//"} {
		if w.Watch(dir) == nil {
			t.Errorf("%q is watched", dir)
		}
	}
}

var must = wardentest.Must
