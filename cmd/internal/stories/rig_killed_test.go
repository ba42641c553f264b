package stories

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// victim makes this binary a test process that starts what a rig starts.
const victim = "UNDERSTUDY_TEST_VICTIM"

// TestKilledTestsLeaveNothing: A killed test process leaves no PostgreSQL, no tmux server, no agent (even one that
// ignores every signal but SIGKILL), and no folders.
func TestKilledTestsLeaveNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(victim) != "" {
		beVictim(t)
		return
	}
	own := value(os.Executable())(t)
	cmd := exec.Command(own, "-test.run=^TestKilledTestsLeaveNothing$")
	cmd.Env = append(os.Environ(), victim+"=1")
	stdout, done := newOutput(), make(chan int, 1)
	cmd.Stdout, cmd.Stderr = stdout, stdout
	must(t, cmd.Start())
	go func() { _ = cmd.Wait(); done <- cmd.ProcessState.ExitCode() }()
	said := stdout.await(t, done, `left (\d+) (\d+) (\d+) in (\S+) and (\S+)\n`)
	var left []tmux.Process
	for _, number := range said[1:4] {
		left = append(left, findProcess(t, number))
	}
	must(t, cmd.Process.Kill())
	for _, p := range left {
		tmuxtest.Eventually(t, fmt.Sprintf("end of process %d", p.PID), func() bool { return !p.Alive() })
	}
	for _, dir := range said[4:] {
		tmuxtest.Eventually(t, "removal of "+dir, func() bool {
			_, err := os.Stat(dir)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
}

func beVictim(t *testing.T) {
	server := tmuxtest.Server(t)
	agent, err := server.Spawn(t.Context(), tmux.Spec{
		Session: "agent", Dir: "/", Argv: []string{"sh", "-c", "trap '' HUP TERM; while :; do sleep 1000; done"},
	})
	must(t, err)
	database := value(pgx.ParseConfig(dbtest.New(t, nil)))(t)
	cluster := filepath.Dir(database.Host)
	postmaster := value(os.ReadFile(filepath.Join(cluster, "data", "postmaster.pid")))(t)
	var pid int
	value(fmt.Sscan(string(postmaster), &pid))(t)
	fmt.Println("left", agent.PID, agent.ServerPID, pid, "in", filepath.Dir(agent.Socket), "and", cluster)
	<-time.After(time.Minute) // It ends by itself if the test that should kill it was killed.
}

// killed ends the agent's process, which nobody asked for, and waits until the daemon has seen it.
func (r *rig) killed(id int64) daemon.Agent {
	r.t.Helper()
	killAgent(r, id)
	return r.awaitState(id, daemon.Ended)
}
