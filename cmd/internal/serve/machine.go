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

// thisRun returns how this process identifies itself to other daemons of the host. A field that it cannot find out stays
// empty. If an earlier process has left a database session, the daemon then cannot tell whether that process has ended. So it
// waits for the end of the session, and does not end the session itself.
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

// machineID returns a text that identifies this machine. A reboot does not change the text. Cloned machines may share
// it.
func machineID() string {
	if b, err := os.ReadFile("/etc/machine-id"); err == nil {
		if id := strings.TrimSpace(string(b)); id != "" {
			return id
		}
	}
	name, _ := os.Hostname() // without a name, the id stays empty
	return name
}

// lockDir makes sure that only one daemon works in a data directory. The lock ends with the process.
func lockDir(dir data.Dir) (unlock func(), err error) {
	f, err := os.OpenFile(dir.Lock(), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		pid, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		return nil, fmt.Errorf("another daemon (process %s) already serves %s: stop it first, or use another --data", pid, dir.Root())
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d", os.Getpid()) // the id only serves the error above
	}
	return func() { f.Close() }, nil
}

// flock tries for a second to take the lock. If a daemon is killed while it starts a command, the command's process
// still holds the lock between its fork and its exec.
func flock(f *os.File) (err error) {
	for range 50 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
