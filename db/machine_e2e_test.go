//go:build e2e && linux

package db

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/db/dbtest"
	"github.com/understudyd/understudy/db/localpg"
)

// serversMachine makes this binary run the test on the server's machine; its value is the name of the other machine.
// lostMachine makes it a daemon on that other machine, which will lose its network; its value is the database's address.
const (
	serversMachine = "UNDERSTUDY_TEST_SERVERS_MACHINE"
	lostMachine    = "UNDERSTUDY_TEST_LOST_MACHINE"
)

// The addresses of the two machines.
const nearAddress, farAddress = "10.91.0.1", "10.91.0.2"

// asRoot runs a command as root, which making networks and mounting need.
func asRoot(t *testing.T, words ...string) {
	t.Helper()
	if out, err := rootCommand(words...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s (this test needs root, or sudo without a password)", strings.Join(words, " "), err, out)
	}
}

func rootCommand(words ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		words = append([]string{"sudo", "-n"}, words...)
	}
	return exec.Command(words[0], words[1:]...)
}

// folder makes a folder that the server's account may pass through.
func folder(t *testing.T) string {
	t.Helper()
	dir := value(os.MkdirTemp("", "us"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o711))
	return dir
}

// TestServerDropsALostMachine: a machine that holds the lock loses its address. No daemon ends its session: the server
// does, because of the keepalives that the connection asked for. The two machines are network namespaces that are not
// visible outside: a browser, for example, drops what it loads whenever an interface comes or goes on its own machine.
func TestServerDropsALostMachine(t *testing.T) {
	if url := os.Getenv(lostMachine); url != "" {
		beLost(t, url)
		return
	}
	if far := os.Getenv(serversMachine); far != "" {
		loseMachine(t, far)
		return
	}
	t.Parallel()
	near, far := fmt.Sprintf("us%da", os.Getpid()), fmt.Sprintf("us%db", os.Getpid())
	for _, name := range []string{near, far} {
		asRoot(t, "ip", "netns", "add", name)
		t.Cleanup(func() { asRoot(t, "ip", "netns", "del", name) })
	}
	asRoot(t, "ip", "-n", near, "link", "add", "us", "type", "veth", "peer", "name", "us", "netns", far)
	for name, address := range map[string]string{near: nearAddress, far: farAddress} {
		asRoot(t, "ip", "-n", name, "addr", "add", address+"/30", "dev", "us")
		asRoot(t, "ip", "-n", name, "link", "set", "us", "up")
	}
	out, err := onMachine(near, serversMachine+"="+far, "-test.v").CombinedOutput()
	t.Logf("on the machine of the server:\n%s", out)
	if err != nil {
		t.Error(err)
	}
}

// onMachine returns the command that runs this test on one of its machines.
func onMachine(name, setting string, flags ...string) *exec.Cmd {
	return rootCommand(append([]string{"ip", "netns", "exec", name, "env", setting, os.Args[0],
		"-test.run=^TestServerDropsALostMachine$"}, flags...)...)
}

// loseMachine is the part of the test that runs on the server's machine.
func loseMachine(t *testing.T, far string) {
	dir := folder(t)
	hba := filepath.Join(dir, "hba")
	must(t, os.WriteFile(hba, []byte("local all all trust\nhost all all "+farAddress+"/32 trust\n"), 0o644))
	cluster := dbtest.ClusterWith(t, map[string]string{"listen_addresses": nearAddress, "hba_file": hba})
	must(t, Migrate(t.Context(), cluster.ConnString()))
	url := fmt.Sprintf("host=%s port=5432 user=understudy dbname=understudy sslmode=disable", nearAddress)
	lost := onMachine(far, lostMachine+"="+url)
	stdin := value(lost.StdinPipe())(t)
	stdout := value(lost.StdoutPipe())(t)
	must(t, lost.Start())
	said, err := bufio.NewReader(stdout).ReadString('\n')
	if said != "locked\n" {
		t.Fatalf("the other machine said %q: %v", said, err)
	}
	asRoot(t, "ip", "-n", far, "addr", "del", farAddress+"/30", "dev", "us")
	began := time.Now()
	stdin.Close()
	_ = lost.Wait() // it ends as a machine without power does: the server does not hear of it
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	l := value(at(t, cluster.ConnString()).LockHost(ctx, "h1", holder("second", "d2"), nil))(t)
	l.Release()
	took := time.Since(began)
	t.Logf("the server gave the machine up after %s", took.Round(100*time.Millisecond))
	if took < lockPace.quiet+lockPace.answer || took > 25*time.Second {
		t.Errorf("the lock was free after %s: before its holder stopped, or too late", took)
	}
}

// beLost takes the lock, reports that, and ends when it is told to.
func beLost(t *testing.T, url string) {
	db := value(Open(t.Context(), Config{ConnString: url}))(t)
	value(db.LockHost(t.Context(), "h1", holder("first", "d1"), nil))(t)
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestFullDisk fills the disk of a database.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	disk := filepath.Join(dir, "disk")
	must(t, os.Mkdir(disk, 0o700))
	mounted := false
	t.Cleanup(func() { // after the server has ended
		if mounted {
			asRoot(t, "umount", disk)
		}
	})
	cluster := dbtest.Cluster(t)
	config := value(pgx.ParseConfig(cluster.ConnString()))(t)
	info := value(os.Stat(filepath.Join(filepath.Dir(config.Host), "data")))(t)
	owner := info.Sys().(*syscall.Stat_t)
	asRoot(t, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=24m,mode=0700,uid=%d,gid=%d", owner.Uid, owner.Gid), "tmpfs", disk)
	mounted = true
	run := dbtest.Admin(t, cluster.ConnString()+" user="+localpg.Owner)
	run(`CREATE TABLESPACE disk LOCATION '` + disk + `'`)
	run(`CREATE DATABASE small TEMPLATE template0 TABLESPACE disk OWNER ` + config.User)
	url := cluster.ConnString() + " dbname=small"
	must(t, Migrate(t.Context(), url))
	db := at(t, url)
	must(t, db.Heartbeat(t.Context(), Host{ID: "h1"}))
	must(t, db.TryWrite(t.Context(), "h1"))
	l := lockHost(t, db, "h1")
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 32<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	large := func() *daemon.Change {
		return &daemon.Change{Events: []*event.Event{{Type: "t", Host: "h1", Payload: []byte(`{"pad": "` + strings.Repeat(rand.Text(), 4000) + `"}`)}}}
	}
	var err error
	eventually(t, "a write that is refused", func() bool {
		err = db.Commit(t.Context(), large())
		return err != nil
	})
	wantCode(t, err, "database_full")
	wait(t, "loss of the lock", l.Lost())
	wantCode(t, db.TryWrite(t.Context(), "h1"), "database_full")
	must(t, os.Remove(filler))
	must(t, db.TryWrite(t.Context(), "h1"))
	commit(t, db, large())
}
