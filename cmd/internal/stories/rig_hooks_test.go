package stories

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/hooks"
)

// launchFile is the file with which the agent was launched.
func launchFile(r *rig, agentID int64) hooks.LaunchFile {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir.Launch(agentID), "launch.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var file hooks.LaunchFile
	if err := json.Unmarshal(b, &file); err != nil {
		r.t.Fatal(err)
	}
	return file
}
