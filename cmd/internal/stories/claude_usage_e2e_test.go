//go:build e2e

package stories

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// TestClaudeUsageIsCountedOnce: what the real CLI writes about its answers is counted once each, also across a restart of the
// daemon, and the cost that its status line tells is counted.
func TestClaudeUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, nil)
	r.start()
	a := r.createAgent(agents.NewAgent{Persona: con, Cwd: r.work})
	a = r.awaitState(a.ID, daemon.Idle)
	r.talk(a.ID, "Say one word")
	r.halt()
	r.start()
	r.talk(a.ID, "Say another word")

	a = r.getAgent(a.ID)
	r.await("the usage and its cost", func() (bool, string) {
		want, answers := claudeUsage(r.readFile(*a.TranscriptPath))
		out, err := r.client.Usage(t.Context(), daemon.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{a.ID}})
		got := out.Total
		return err == nil && answers >= 2 && got.Tokens == want && got.CostUSD != nil && *got.CostUSD > 0,
			fmt.Sprintf("counted %+v, cost %s; the transcript shows %+v in %d answers", got.Tokens, got.CostWords(), want, answers)
	})
}
