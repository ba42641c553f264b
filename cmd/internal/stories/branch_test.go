package stories

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// TestBranchOfIdleAgents: six agents that start at once in one repository all show its branch, and the branch that a person
// checks out while they are idle.
func TestBranchOfIdleAgents(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		head := filepath.Join(r.work, ".git", "HEAD")
		writeFile(r, head, "ref: refs/heads/main\n")
		var ids []int64
		for range 6 {
			a, err := r.client.CreateAgent(t.Context(), agents.NewAgent{Cwd: r.work})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.ID)
		}
		for _, id := range ids {
			r.awaitAgent(id, "its branch", func(a daemon.Agent) bool { return a.State == daemon.Idle && a.Branch == "main" })
		}
		writeFile(r, head, "ref: refs/heads/fix/parcels\n")
		began := time.Now()
		for _, id := range ids {
			r.awaitAgent(id, "the other branch", func(a daemon.Agent) bool { return a.Branch == "fix/parcels" && a.Repository == filepath.Base(r.work) })
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the other branch was shown after %s", took)
		}
		if n := len(r.agentEvents(ids[0], fmt.Sprintf("agent_%s", daemon.Working))); n != 0 {
			t.Errorf("the agent began %d turns", n)
		}
	})
}
