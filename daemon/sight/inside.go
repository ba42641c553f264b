package sight

import (
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// RegistryInside is the folder that an agent in a sandbox has for its runtime's registry, so that no other agent's is there: inside of
// sandboxes, processes of several have the same ids.
func RegistryInside(root data.Dir, agentID int64) string {
	return filepath.Join(root.Launch(agentID), "sessions")
}

// maxEntries is how many files of a sandbox's registry are looked at. There is one for each session that runs in it.
const maxEntries = 64

// EntryInside is [EntryOf] for an agent in a sandbox. The agent's process is the first one there that has an entry; others are sessions that
// it has started. The agent could write of any directory that it works there, so its hooks alone tell that.
func EntryInside(d *Sight, a *daemon.Agent) (reg runtimes.Registry, ok bool) {
	dir, err := os.Open(RegistryInside(d.Data, a.ID))
	if err != nil {
		return reg, false // its launch files are removed
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxEntries) // those that could be read count
	for _, e := range entries {
		found, has := ReadEntry(d, filepath.Join(RegistryInside(d.Data, a.ID), e.Name()))
		if has && found.Kind != runtimes.KindBackground && (!ok || found.PID < reg.PID) {
			reg, ok = found, true
		}
	}
	reg.PID, reg.Cwd, reg.ParkedJob = a.PID, "", ""
	return reg, ok
}
