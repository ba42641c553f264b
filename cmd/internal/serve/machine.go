package serve

import (
	"crypto/rand"
	"os"
	"strings"

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
