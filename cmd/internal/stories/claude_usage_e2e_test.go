//go:build e2e

package stories

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestClaudeUsageIsCountedOnce: what the real CLI writes about its answers is counted once each, also across a restart of the
// daemon, and the cost that its status line tells is counted.
func TestClaudeUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, nil)
	r.start()
	a := r.createAgent(daemon.NewAgent{Persona: con, Cwd: r.work})
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

// claudeUsage adds up the usage in a transcript, of each answer once.
func claudeUsage(transcript string) (sum runtimes.Tokens, answers int) {
	seen := map[string]bool{}
	for line := range strings.Lines(transcript) {
		var l struct {
			Type    string
			Message struct {
				ID    string
				Usage struct {
					Input  int64 `json:"input_tokens"`
					Write  int64 `json:"cache_creation_input_tokens"`
					Read   int64 `json:"cache_read_input_tokens"`
					Output int64 `json:"output_tokens"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "assistant" && !seen[l.Message.ID] {
			seen[l.Message.ID] = true
			u := l.Message.Usage
			sum.Add(runtimes.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.Read, CacheWrite: u.Write})
		}
	}
	return sum, len(seen)
}
