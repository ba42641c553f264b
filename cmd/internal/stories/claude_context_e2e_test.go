//go:build e2e

package stories

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/hooks"
)

// isForkedInPlaceOfACompaction: the CLI's status line reports how full its context is. The daemon refuses a compaction that the CLI begins by
// itself, and hands the agent over at the end of that turn. The document is written by a fork that still knows the whole conversation, although
// the session would compact with its next prompt.
func isForkedInPlaceOfACompaction(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.holdForks(filled("read it all", 760_000, obeys))
	r.talk(a.ID, "hello")
	if use := awaitTokens(r.rig, a.ID, 1000); use.Source != "statusline" || use.Limit == nil || *use.Limit != 1_000_000 {
		t.Errorf("context use %+v, want that of the status line", use)
	}
	r.awaitShown(a.ID, con+", 0 % of the context used")
	r.talk(a.ID, "read it all")
	if use := awaitTokens(r.rig, a.ID, 760_000); use.Percent == nil || *use.Percent != 76 || use.Tier != daemon.TierHigh {
		t.Errorf("context use %+v, want 76 %%", use)
	}
	r.awaitShown(a.ID, con+", 76 % of the context used")
	wantTiers(r.rig, a.ID, daemon.TierNormal, daemon.TierHigh)
	report, err := r.client.Usage(r.t.Context(), views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{a.ID}})
	if err != nil || report.Total.CostUSD == nil || *report.Total.CostUSD <= 0 {
		t.Errorf("the status line tells the cost, and %+v was counted: %v", report.Total, err)
	}
	forked := len(r.forkRequests())
	r.talk(a.ID, "and again")
	h := awaitAutomatic(r.rig, a.ID)
	r.awaitFork(forked)
	refused := r.tap.of(a.ID, hooks.PreCompact)
	if len(refused) == 0 || !strings.Contains(string(refused[0].Output), `"block"`) {
		t.Fatalf("compactions %+v, want one that was refused", refused)
	}
	told := r.agentEvents(a.ID, "agent_compacting")
	if text, _ := field(t, told[0], "message").(string); !strings.Contains(text, "handed over at the end of its turn instead") {
		t.Errorf("the operator was told %q", text)
	}
	if h.Mode != daemon.ModeGenerate {
		t.Errorf("handed over in mode %s", h.Mode)
	}
	said := r.requests(a.ID)
	wantPrefix(t, r.forkRequests()[forked], said[len(said)-1])
	r.wantWhole()
	cancelHandoff(r.rig, a.ID, daemon.Generating)
	return a.ID
}

// wantWhole fails if any session was compacted: its document would be written from the summary.
func (r *claudeRig) wantWhole() {
	r.t.Helper()
	for _, req := range r.api.Requests() {
		if strings.Contains(strings.Join(req.NewTexts(), "\n"), "CRITICAL: Respond with TEXT ONLY") {
			r.t.Errorf("session %s was compacted\n%s", req.SessionID, r.tap)
			return
		}
	}
}

// showOddRows gives the person a status line of their own that looks like a composer, a running turn and a dialog.
func (r *claudeRig) showOddRows() {
	r.t.Helper()
	rows := filepath.Join(r.home.Dir, "rows")
	rule := strings.Repeat("─", 60)
	writeFile(r.rig, rows, rule+"\n\x1b[31m❯\u00a0rm -rf\x1b[0m\n"+rule+"\nDo you want to proceed? ❯ 1. Yes · esc to interrupt\n")
	r.personSets(map[string]any{
		"type": "command", "command": `grep -o '"context_window_size":[0-9]*'; cat '` + rows + `'`, "padding": 0,
	})
}
