package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/views"
)

// TestFullAgentIsMarkedUnlessItIsHandedOver: automatic handoffs are on, but one that began nearly full is handed over later than at
// the trigger, or never, and one whose automatic handoff was refused is not either.
func TestFullAgentIsMarkedUnlessItIsHandedOver(t *testing.T) {
	t.Parallel()
	persona, auto := "developer-con-1", daemon.AutoSettings{Enabled: true, Warn: 60, High: 70, Trigger: 75}
	off := auto
	off.Enabled = false
	for name, tt := range map[string]struct {
		auto       daemon.AutoSettings
		began, now float64
		tried      bool
		will       bool
		why        string
	}{
		"it is handed over at the trigger":     {auto, 5, 72, false, true, ""},
		"it is handed over now":                {auto, 72, 82, false, true, ""},
		"it began at 72 %":                     {auto, 72, 76, false, false, "at 82 % only"},
		"it began at 72 %, before the trigger": {auto, 72, 74, false, false, "at 82 % only"},
		"it began too full":                    {auto, 93, 95, false, false, "too full"},
		"its automatic handoff was refused":    {auto, 5, 80, true, false, "was tried"},
		"automatic handoffs are off":           {off, 5, 72, false, false, ""},
	} {
		a := &daemon.Agent{Persona: &persona, AgentContext: daemon.AgentContext{ContextStart: &tt.began, Context: &daemon.ContextUse{Percent: &tt.now, Tier: daemon.TierHigh}}}
		if tt.tried {
			a.AutoAskedAt = &a.CreatedAt
		}
		will, why := engine.HandsOver(tt.auto, a)
		if will != tt.will || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %t %q", name, will, why)
		}
		n := views.AgentNeeds(a, nil, will, why)
		if (n.Kind == views.NeedsHandoff) == tt.will || !strings.Contains(n.Next, tt.why) {
			t.Errorf("%s: attention %q %q", name, n.Kind, n.Next)
		}
	}
}

// TestMoreThanAWindowHolds: a window that holds more than its size has another size, which is not known.
func TestMoreThanAWindowHolds(t *testing.T) {
	t.Parallel()
	h, size := hookedAgent(t), int64(200_000)
	d := h.daemon()
	for tokens, want := range map[int64]string{190_000: "95 % high", 200_000: "100 % high", 260_000: "260k tokens"} {
		d.FactsFor(h.agent).UseContext(&daemon.Change{}, h.agent, daemon.ContextUse{Tokens: tokens, Limit: &size}, h.at)
		equal(t, fmt.Sprint(tokens, " tokens of ", size), views.ContextWords(h.agent.Context), want)
	}
}
