//go:build e2e

package stories

import (
	"maps"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestRuntimeWithAnUnknownScreen: the daemon knows nothing of what the real Claude Code draws, as after a change of its layout.
// Texts are pasted, seen on the screen and submitted, each once; a handoff goes through; and the operator is told once.
func TestRuntimeWithAnUnknownScreen(t *testing.T) {
	t.Parallel()
	for _, c := range runtimeCases {
		rt, err := runtimes.For(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if c.name != "claude" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntimeRig(t, c, false)
			r.halt()
			strange := *rt
			strange.ReadScreen = func(runtimes.View) runtimes.Screen { return runtimes.Screen{} }
			r.around(func(cfg *engine.Config) {
				cfg.Settings.Generic = maps.Clone(cfg.Settings.Generic)
				if cfg.Settings.Generic == nil {
					cfg.Settings.Generic = map[string]*runtimes.Runtime{}
				}
				cfg.Settings.Generic[c.name] = &strange
			})
			r.start()
			a := r.newAgent()
			for _, text := range []string{"how is the house?", "first line\nsecond line " + strings.Repeat("the roof leaks. ", 20) + "and the garden?"} {
				r.talk(a.ID, text)
				if got := r.wantOnce(text[len(text)-12:]); !runtimes.MatchesPrompt(got, text) {
					t.Errorf("the model was told\n%q, want\n%q", got, text)
				}
			}
			r.resetExperience()
			h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
			r.awaitAsked("you take over from agent")
			r.wantOnce("you take over from agent")
			r.awaitState(*h.SuccessorID, daemon.Idle)
			told := r.eventsWhere(func(e event.Event) bool { return e.Type == event.AgentScreenUnknown })
			if len(told) != 1 || !told[0].Alert || !strings.Contains(field(t, told[0], "version").(string), rt.Can.Tested) ||
				len(field(t, told[0], "screen").(string)) < 20 {
				t.Errorf("told of the unknown screen: %+v", told)
			}
		})
	}
}
