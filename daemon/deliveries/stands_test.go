package deliveries

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// TestExitCommandStandsAlone: a message may stand in the composer behind another text, but the exit command only alone, whatever is aside.
func TestExitCommandStandsAlone(t *testing.T) {
	t.Parallel()
	for draft, want := range map[string][2]bool{
		"/quit": {true, true}, " /quit ": {true, true}, "half a thought /quit": {true, false}, "[prompt] do this\n/quit": {true, false}, "half": {false, false}, "": {false, false},
	} {
		s := &sight.Screen{Screen: runtimes.Screen{Composer: true, Draft: draft}}
		for i, kind := range []daemon.DeliveryKind{daemon.KindMessage, daemon.KindExit} {
			equal(t, fmt.Sprint(kind, " in ", draft), (pasted{}).stands(&daemon.Delivery{Kind: kind, Text: "/quit"}, s), want[i])
		}
	}
	s := &sight.Screen{Screen: runtimes.Screen{Composer: true, Draft: "half a thought", Stashed: true}}
	if (pasted{aside: "a draft"}).stands(&daemon.Delivery{Kind: daemon.KindExit, Text: "/exit"}, s) {
		t.Error("another text counts as the exit command while a draft is aside")
	}
}
