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
	b := value(os.ReadFile(filepath.Join(r.dir.Launch(agentID), "launch.json")))(r.t)
	var file hooks.LaunchFile
	must(r.t, json.Unmarshal(b, &file))
	return file
}
