package serve

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/tmux"
)

// thisRun is how this process names itself to other daemons of the host. What cannot be found out stays
// empty, and then a session that an earlier run has left is waited for rather than ended.
func thisRun(dir data.Dir) (db.Holder, error) {
	directory, err := dir.Identity()
	if err != nil {
		return db.Holder{}, err
	}
	me := db.Holder{
		Instance: rand.Text(), Machine: machineID(), Boot: tmux.BootID(), Directory: directory, DataRoot: dir.Root(), PID: os.Getpid(),
	}
	if self, err := tmux.FindProcess(me.PID); err == nil {
		me.PIDStart = self.Start
	}
	return me, nil
}

// machineID is the same after a reboot, and another one on another machine that was not cloned from this.
func machineID() string {
	if b, err := os.ReadFile("/etc/machine-id"); err == nil {
		if id := strings.TrimSpace(string(b)); id != "" {
			return id
		}
	}
	name, _ := os.Hostname() // without one the machine is not known
	return name
}

// lockDir makes sure that one daemon works in a data directory. The lock ends with the process.
func lockDir(dir data.Dir) (unlock func(), err error) {
	f, err := os.OpenFile(dir.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		return nil, fmt.Errorf("another daemon (process %s) already serves %s: stop it first, or use another --data", pid, dir.Root())
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d", os.Getpid()) // only for the sentence above
	}
	return func() { f.Close() }, nil
}

// flock takes the lock within a second. A daemon that was killed while it started a command leaves
// the lock for as long as that takes to get from fork to exec.
func flock(f *os.File) (err error) {
	for range 50 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
