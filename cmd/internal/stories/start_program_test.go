package stories

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/child/childtest"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestMainProgramStartsLean: The commands that agents wait for run before the packages of the daemon initialize
// themselves. That would allocate eight times as much.
func TestMainProgramStartsLean(t *testing.T) {
	t.Parallel()
	childtest.WantLean(t, exec.Command(cmdtest.MainProgram(t), "hook"), 1_300)
}

// TestServeHidesSecrets: no other user of the machine reads the password of a database in the list of processes. Variables come from a file that
// nobody else may read.
func TestServeHidesSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := func(args ...string) *exec.Cmd {
		return exec.Command(cmdtest.MainProgram(t), append([]string{"serve", "--data", filepath.Join(dir, "data")}, args...)...)
	}
	silent := wardentest.Value(net.Listen("tcp", "127.0.0.1:0"))(t) // a database that does not answer
	defer silent.Close()
	for _, args := range [][]string{{"--database-url", "postgres://me:sesame@" + silent.Addr().String()}, {"--database-url=host=" + dir + " password=sesame"}} {
		cmd := serve(args...)
		must(t, cmd.Start())
		wardentest.Eventually(t, "the list of processes has no password", func() bool {
			shown, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(cmd.Process.Pid)).Output()
			return err == nil && strings.Contains(string(shown), "serve --data") && !strings.Contains(string(shown), "sesame")
		})
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
	}
	file := filepath.Join(dir, "env")
	for mode, want := range map[os.FileMode]string{0o644: "chmod go-r", 0o600: "nowhere"} {
		must(t, os.WriteFile(file, []byte("UNDERSTUDY_LISTEN=nowhere\n"), mode))
		must(t, os.Chmod(file, mode))
		if out, err := serve("--env-file", file).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("mode %o: %s, want %q", mode, out, want)
		}
	}
}
