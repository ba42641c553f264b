//go:build e2e

package stories

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/hooks"
)

// wantHeard fails unless the context file has exactly these messages.
func (r *claudeRig) wantHeard(c contextFile, want ...heard) {
	r.t.Helper()
	wantHeard(r.t, "context file", c.messages, want)
}

// TestClaudeStatusLineReportsTheContext: The CLI's status line reports how full its context is, whatever a person has
// it show.
func TestClaudeStatusLineReportsTheContext(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	enableAuto(r.rig)
	settings := filepath.Join(r.home.ConfigDir, "settings.json")
	writeFile(r.rig, settings, r.oddStatusLine())
	r.start()
	r.relay(t, leg{"a person's", isShownAPersonsRows}, leg{"ours", func(t *testing.T, r *claudeRig, a daemon.Agent) int64 {
		writeFile(r.rig, settings, "{}")
		return handsOverAFullContext(t, r, a)
	}})
}

// handsOverAFullContext: an agent with a full context is handed over automatically at the end of its turn.
func handsOverAFullContext(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(filled("read it all", 760_000, obeys))
	r.talk(a.ID, "hello")
	if use := awaitTokens(r.rig, a.ID, 1000); use.Source != "statusline" || use.Limit == nil || *use.Limit != 1_000_000 {
		t.Errorf("context use %+v, want that of the status line", use)
	}
	r.awaitShown(a.ID, con+", 0 % of the context used")
	backdateRegistration(r.rig, a.ID)
	r.talk(a.ID, "read it all")
	if use := awaitTokens(r.rig, a.ID, 760_000); use.Percent == nil || *use.Percent != 76 || use.Tier != daemon.TierHigh {
		t.Errorf("context use %+v, want 76 %%", use)
	}
	r.awaitShown(a.ID, con+", 76 % of the context used")
	report, err := r.client.Usage(r.t.Context(), views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{a.ID}})
	if err != nil || report.Total.CostUSD == nil || *report.Total.CostUSD <= 0 {
		t.Errorf("the status line tells the cost, and %+v was counted: %v", report.Total, err)
	}
	h := r.awaitPhase(awaitAutomatic(r.rig, a.ID).ID, daemon.Completed)
	r.wantTakenOver(h)
	if h.ContextUse == nil || h.ContextUse.Tokens != 760_000 {
		t.Errorf("handed over at %+v, want 760000 tokens", h.ContextUse)
	}
	wantTiers(r.rig, a.ID, daemon.TierNormal, daemon.TierHigh)
	if got := handoffsOf(r.rig, *h.SuccessorID); len(got) > 0 {
		t.Errorf("the successor is handed over as well: %+v", got)
	}
	return *h.SuccessorID
}

// TestClaudeWritesTheDocumentBeforeItCompacts: The document is written by a session that still knows the whole
// conversation.
func TestClaudeWritesTheDocumentBeforeItCompacts(t *testing.T) {
	t.Parallel()
	r := newClaudeRig(t, obeys)
	r.cfg.Environ = append(r.cfg.Environ, "CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000")
	enableAuto(r.rig)
	r.start()
	r.relay(t, leg{"of the session", handsOverInPlaceOfACompaction}, leg{"of a fork", generatesWithAFullContext})
}

// handsOverInPlaceOfACompaction: the daemon refuses a compaction that the CLI begins by itself, and hands the agent
// over at the end of that turn.
func handsOverInPlaceOfACompaction(t *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(filled("hello", 90_000, obeys))
	r.talk(a.ID, "hello")
	r.talk(a.ID, "and again")
	h := r.awaitPhase(awaitAutomatic(r.rig, a.ID).ID, daemon.Completed)
	r.wantFollowed(h)
	refused := r.tap.of(a.ID, hooks.PreCompact)
	if len(refused) == 0 || !strings.Contains(string(refused[0].Output), `"block"`) {
		t.Fatalf("compactions %+v, want one that was refused", refused)
	}
	told := r.agentEvents(a.ID, "agent_compacting")
	if text, _ := field(t, told[0], "message").(string); !strings.Contains(text, "handed over at the end of its turn instead") {
		t.Errorf("the operator was told %q", text)
	}
	r.wantWhole()
	r.wantHeard(contextOf(r.rig, h), heard{a.Name, "user", "hello"}, heard{a.Name, "assistant", "OK"},
		heard{a.Name, "user", "and again"}, heard{a.Name, "assistant", "OK"})
	return *h.SuccessorID
}

// generatesWithAFullContext: a session that would compact with its next prompt is forked, and the fork does not
// compact.
func generatesWithAFullContext(_ *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	r.api.SetScript(filled("fill it", 90_000, obeys))
	for _, text := range []string{"and on", "fill it"} {
		r.talk(a.ID, text)
	}
	h := r.awaitPhase(requestGenerate(r.rig, a.ID, ""), daemon.Completed)
	r.wantFollowed(h)
	r.wantWhole()
	return *h.SuccessorID
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

// oddStatusLine makes a person's settings whose status line looks like a composer, a running turn and a dialog.
func (r *claudeRig) oddStatusLine() string {
	r.t.Helper()
	rows := filepath.Join(r.home.Dir, "rows")
	rule := strings.Repeat("─", 60)
	writeFile(r.rig, rows, rule+"\n\x1b[31m❯\u00a0rm -rf\x1b[0m\n"+rule+"\nDo you want to proceed? ❯ 1. Yes · esc to interrupt\n")
	settings, err := json.Marshal(map[string]any{"statusLine": map[string]any{
		"type": "command", "command": `grep -o '"context_window_size":[0-9]*'; cat '` + rows + `'`, "padding": 0,
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(settings)
}

// isShownAPersonsRows: a person's own status line is shown although ours is set. The daemon does not mistake it for a
// composer, a running turn or a dialog.
func isShownAPersonsRows(_ *testing.T, r *claudeRig, a daemon.Agent) (next int64) {
	for _, row := range []string{`"context_window_size":1000000`, "❯\u00a0rm -rf", "Do you want to proceed?"} {
		r.awaitShown(a.ID, row)
	}
	r.talk(a.ID, "hello")
	awaitTokens(r.rig, a.ID, 1000)
	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	r.wantTakenOver(h)
	r.wantNoDialog(a.ID)
	return *h.SuccessorID
}
