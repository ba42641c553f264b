package tmux_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// starved names the variable that makes TestProcessWithoutDescriptors run as its own child.
const starved = "TMUX_TEST_STARVED"

// TestProcessWithoutDescriptors: a program without free file descriptors cannot ask the system about a
// process. Once it took every process for ended.
func TestProcessWithoutDescriptors(t *testing.T) {
	if os.Getenv(starved) == "" {
		t.Parallel()
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcessWithoutDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), starved+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	me := found(t, os.Getpid())
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = 3 // standard input, output and error
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	if f, err := os.Open(os.DevNull); err == nil {
		f.Close()
		t.Fatal("there are descriptors left")
	}
	if !me.Alive() {
		t.Error("this very process is taken for ended")
	}
}
