//go:build e2e

package stories

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestPersonsAgentIsToldOfTheLastHandoffs: The text with its skill names the documents of the persona's last
// handoffs.
func TestPersonsAgentIsToldOfTheLastHandoffs(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	theirs, _ := startForeignAgent(r, tmuxtest.Server(t), "")
	first, _, next := handOver(r, r.startAgent(con).ID)
	second, _, _ := handOver(r, next.ID)
	r.assignPersona(theirs.ID, con)
	r.awaitAgent(theirs.ID, "skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil })
	r.wantTold(theirs.ID, "you play the persona "+con)
	if told := r.told(theirs.ID)[0]; !strings.HasSuffix(told, second.FilePath+", "+first.FilePath+".") {
		t.Errorf("told %q, want it to end with the last handoffs, the newest first:\n%s\n%s", told, second.FilePath, first.FilePath)
	}
}
