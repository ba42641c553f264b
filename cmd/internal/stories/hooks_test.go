package stories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
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

// countSpooled counts the hooks in the spool.
func countSpooled(r *rig) int {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir.Spool())
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			n++
		}
	}
	return n
}

func awaitSpooled(r *rig, n int) {
	r.t.Helper()
	r.await("spooled hooks", func() (bool, string) { return countSpooled(r) == n, "" })
}

// TestSpooledHooksAreAppliedInOrderAndOnce: The next daemon applies what agents report while no daemon runs, in order
// and once.
func TestSpooledHooksAreAppliedInOrderAndOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	a := r.startAgent(con)
	r.halt()
	r.personTypes(a.ID, "while you were away", tmux.Enter)
	awaitSpooled(r, 2) // UserPromptSubmit, Stop
	r.personTypes(a.ID, "/clear", tmux.Enter)
	awaitSpooled(r, 4) // SessionEnd, SessionStart
	r.start()
	now := r.awaitState(a.ID, daemon.Idle)
	if countSpooled(r) != 0 {
		t.Errorf("%d hooks are still spooled", countSpooled(r))
	}
	if *now.SessionID == *a.SessionID {
		t.Error("the session that /clear began is not known")
	}
	var got []string
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == a.ID }) {
		if e.Type.About("agent") {
			got = append(got, string(e.Type))
		}
	}
	const want = "agent_working agent_idle agent_session_changed"
	if all := strings.Join(got, " "); !strings.HasSuffix(all, want) || strings.Count(all, "agent_working") != 1 {
		t.Errorf("events %v: want %s at the end, once", got, want)
	}
	r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
}
