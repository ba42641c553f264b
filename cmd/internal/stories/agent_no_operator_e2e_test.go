//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestAnAgentsCommandsAreNotTheOperators: an agent runs the operator's command in its own process, in one that leaves it, and in a new session
// of the tmux server that it finds. None of them types into another agent's pane. The operator's own command does.
func TestAnAgentsCommandsAreNotTheOperators(t *testing.T) {
	t.Parallel()
	r := withShells(newRig(t)).start()
	a, other := r.startAgent(con), r.startAgent("")
	send := understudyLine(r, "--data", r.root, "agent", "send", fmt.Sprint(other.ID), "--command", "!touch typed")
	lines := map[string]struct{ line, told string }{
		"its own process":                   {"sh -c \"$line\"", "An agent may ask for its own"},
		"an orphan":                         {"setsid -f sh -c \"$line\"", "the operator does that from outside of an agent"},
		"a session of its tmux":             {"tmux new-session -d sh -c \"$line\"", "the operator does that from outside of an agent"},
		"an orphan without its environment": {"env -i setsid -f sh -c \"$line\"", "the operator does that from outside of an agent"},
	}
	if grouped, _, _ := runInside(r, a.ID, "", "grep -q understudy-agents /proc/self/cgroup"); grouped != 0 && os.Geteuid() != 0 {
		delete(lines, "an orphan without its environment") // this user may make no control groups
	}
	for how, tt := range lines {
		out := filepath.Join(t.TempDir(), "out")
		runInside(r, a.ID, "", fmt.Sprintf("line=\"%s >'%s.new' 2>&1; mv '%[2]s.new' '%[2]s'\"; %s", send, out, tt.line))
		r.await("the end of "+how, func() (bool, string) {
			_, err := os.Stat(out)
			return err == nil, fmt.Sprint(err)
		})
		holds(t, how+": it was told", r.readFile(out), tt.told)
	}
	equal(t, "sent to the other agent", len(value(r.client.Messages(t.Context(), other.ID, allRows))(t)), 0)
	r.sendMessage(other.ID, "the operator's")
}
