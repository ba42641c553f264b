package localpg

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// daemonDir makes this test binary a daemon that starts a cluster in the named
// folder, says so and then waits to be killed.
const (
	daemonDir = "LOCALPG_TEST_DIR"
	daemonBin = "LOCALPG_TEST_BIN"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(daemonDir); dir != "" {
		os.Exit(daemon(dir))
	}
	os.Exit(wardentest.Run(m.Run))
}

func daemon(dir string) int {
	c, err := Start(context.Background(), Config{Dir: dir, BinDir: os.Getenv(daemonBin), NoSync: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", c.PID())
	_, _ = io.Copy(io.Discard, os.Stdin) // ends if the test is killed
	return 0
}

// startDaemon runs the daemon and returns at once; ready waits for the
// server's process id.
func startDaemon(t *testing.T, dir string, env ...string) (process *os.Process, ready func() int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), daemonDir+"="+dir), env...)
	cmd.Stderr = os.Stderr
	stdin := value(cmd.StdinPipe())(t)
	stdout := value(cmd.StdoutPipe())(t)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process, func() int {
		t.Helper()
		line, err := bufio.NewReader(stdout).ReadString('\n')
		word, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, errPID := strconv.Atoi(number)
		if err != nil || word != "ready" || errPID != nil {
			t.Fatalf("daemon said %q: %v", line, err)
		}
		return pid
	}
}

func kill(t *testing.T, process *os.Process) {
	t.Helper()
	must(t, process.Kill())
	value(process.Wait())(t)
}

// folder makes a folder with a short path that every account can reach, unlike t.TempDir.
func folder(t *testing.T) string {
	t.Helper()
	dir := value(os.MkdirTemp("", "uspg"))(t)
	t.Cleanup(func() {
		sweep(filepath.Join(dir, "postgres"))
		os.RemoveAll(dir)
	})
	must(t, os.Chmod(dir, 0o711))
	return filepath.Join(dir, "postgres")
}

// cluster returns a folder with a stopped cluster, for tests that need no initdb: initdb takes a second of CPU.
func cluster(t *testing.T) string {
	t.Helper()
	made := value(firstCluster())(t)
	dir := folder(t)
	if out, err := exec.Command("cp", "-a", made, dir).CombinedOutput(); err != nil { // with its owners
		t.Fatalf("copy of a cluster: %v: %s", err, out)
	}
	return dir
}

// firstCluster is the cluster that cluster copies. It is removed when this process ends.
var firstCluster = sync.OnceValues(func() (string, error) {
	in, err := wardentest.Folder("")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(in, "postgres")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := Start(ctx, Config{Dir: dir, NoSync: true})
	if err != nil {
		return "", err
	}
	return dir, c.Stop(ctx)
})

// sweep ends a server that a failed test left running.
func sweep(dir string) {
	if c, err := open(Config{Dir: dir}); err == nil {
		_ = c.endLeftovers(context.Background())
		c.release()
	}
}

func start(t *testing.T, dir string) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := value(Start(ctx, Config{Dir: dir, NoSync: true, Log: logger(t)}))(t)
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func logger(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

func connect(t *testing.T, c *Cluster) *pgx.Conn {
	t.Helper()
	config := value(pgx.ParseConfig(c.ConnString()))(t)
	c.Configure(config)
	conn := value(pgx.ConnectConfig(t.Context(), config))(t)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, c *Cluster, sql string) {
	t.Helper()
	conn := connect(t, c)
	defer conn.Close(context.Background())
	value(conn.Exec(t.Context(), sql))(t)
}

func ask[T any](t *testing.T, c *Cluster, sql string) T {
	t.Helper()
	conn := connect(t, c)
	defer conn.Close(context.Background())
	return askOn[T](t, conn, sql)
}

func answers(t *testing.T, c *Cluster) {
	t.Helper()
	equal(t, "the server answers", ask[int](t, c, "SELECT 1"), 1)
}

func askOn[T any](t *testing.T, conn *pgx.Conn, sql string) T {
	t.Helper()
	var answer T
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// crash kills the server with SIGKILL and waits until it is dead.
func crash(t *testing.T, c *Cluster) {
	t.Helper()
	pid := c.PID()
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	wardentest.Eventually(t, "end of the server", func() bool { return !c.belongs(pid) })
}

var must, equal = wardentest.Must, wardentest.Equal

func value[T any](v T, err error) func(testing.TB) T { return wardentest.Value(v, err) }

func failed[T any](v T, err error) func(testing.TB, string, ...any) { return wardentest.Failed(v, err) }
