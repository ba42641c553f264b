package localpg

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stranger starts a process of the server's account and returns its id. Until
// the end of the test nobody waits for it, so that it becomes a zombie if it ends.
func stranger(t *testing.T, c *Cluster, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.who.credential()}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// dead reports whether pid has ended; it may be a zombie.
func dead(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}
