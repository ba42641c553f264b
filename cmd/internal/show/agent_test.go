package show

import (
	"cmp"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func TestContextWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		use  *daemon.ContextUse
		cell string
		full string
	}{
		{nil, "-", ""},
		{&daemon.ContextUse{Tokens: 86_000, Limit: ptr(int64(200_000)), Percent: ptr(43.0), Tier: daemon.TierNormal}, "43 %", "43 %, 86k of 200k tokens"},
		{&daemon.ContextUse{Tokens: 620_000, Limit: ptr(int64(1_000_000)), Percent: ptr(62.0), Tier: daemon.TierWarn}, "62 % warn", "62 % warn, 620k of 1M tokens"},
		{&daemon.ContextUse{Tokens: 755_010, Limit: ptr(int64(1_000_000)), Percent: ptr(75.5), Tier: daemon.TierHigh}, "76 % high", "76 % high, 755k of 1M tokens"},
		{&daemon.ContextUse{Tokens: 120_400}, "120k tokens", "120k tokens of a window whose size is not known"},
		{&daemon.ContextUse{Tokens: 7}, "7 tokens", "7 tokens of a window whose size is not known"},
		{&daemon.ContextUse{Tokens: 1_250_000}, "1.2M tokens", "1.2M tokens of a window whose size is not known"},
	} {
		if got := cmp.Or(c.use.Words(), "-"); got != c.cell {
			t.Errorf("%+v: %q, want %q", c.use, got, c.cell)
		}
		if got := c.use.InFull(); got != c.full {
			t.Errorf("%+v in full: %q, want %q", c.use, got, c.full)
		}
	}
}

func TestUIEndWords(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"prompt_input_exit": "exited by /exit", "process_gone": "its process is gone", "tmux_server_gone": "its tmux server is gone",
		"its last words": "its last words",
	} {
		if got := EndWords(&reason); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
	if got := EndWords(nil); got != "-" {
		t.Errorf("none: %s", got)
	}
}

// TestStateCell: a list says beside the state what an agent needs a person for, unless the state says so.
func TestStateCell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state   daemon.AgentState
		trouble *daemon.Trouble
		need    daemon.AttentionKind
		want    string
	}{
		{daemon.Idle, nil, "", "idle"}, {daemon.Waiting, nil, daemon.NeedsAnswer, "waiting"}, {daemon.Idle, nil, daemon.NeedsRetry, "idle, failed"},
		{daemon.Ended, nil, daemon.NeedsHeir, "ended, died"}, {daemon.Idle, &daemon.Trouble{Code: "usage_limit"}, daemon.NeedsCare, "idle, usage_limit"},
		{daemon.Working, &daemon.Trouble{Code: "usage_limit"}, "", "working, usage_limit"},
	} {
		if got := StateCell(&daemon.Agent{State: c.state, Trouble: c.trouble}, c.need); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.state, c.need, got, c.want)
		}
	}
}
