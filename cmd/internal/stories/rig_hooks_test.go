package stories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/hooks"
)

// newHook makes a hook as the agent's own process sends it.
func newHook(r *rig, agentID int64, event string, body map[string]any) hooks.Envelope {
	r.t.Helper()
	if r.memory != nil {
		letAMomentPass()
	}
	env := hooks.Envelope{
		Key: hooks.NewKey(time.Now()), Event: event, At: time.Now(), AgentPID: r.pane(agentID).PID, Launch: launchSecret(r, agentID),
	}
	a := r.getAgent(agentID)
	all := map[string]any{"hook_event_name": event, "session_id": *a.SessionID, "transcript_path": *a.TranscriptPath, "cwd": a.Cwd}
	for k, v := range body {
		all[k] = v
	}
	var err error
	if env.Body, err = json.Marshal(all); err != nil {
		r.t.Fatal(err)
	}
	return env
}

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

// launchSecret is the agent's launch secret.
func launchSecret(r *rig, agentID int64) string {
	r.t.Helper()
	for _, v := range launchFile(r, agentID).Env {
		if secret, ok := strings.CutPrefix(v, "UNDERSTUDY_LAUNCH="); ok {
			return secret
		}
	}
	r.t.Fatalf("agent %d has no launch secret", agentID)
	return ""
}

// launchText is the skill with which the agent is launched.
func launchText(r *rig, a daemon.Agent) string {
	r.t.Helper()
	argv := launchFile(r, a.ID).Argv
	i := slices.Index(argv, "--append-system-prompt-file")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", a.ID, argv)
	}
	return r.readFile(argv[i+1])
}

// settingsOf is what the agent's runtime was launched with as its settings.
func settingsOf(r *rig, agentID int64) string {
	r.t.Helper()
	argv := launchFile(r, agentID).Argv
	i := slices.Index(argv, "--settings")
	if i < 0 {
		r.t.Fatalf("agent %d launched by %q", agentID, argv)
	}
	return r.readFile(argv[i+1])
}
