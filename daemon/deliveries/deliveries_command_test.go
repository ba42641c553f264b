package deliveries

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// TestLeftComposer: a command is taken only if Enter was pressed for it and the composer, or a dialog in its place, is without it.
func TestLeftComposer(t *testing.T) {
	t.Parallel()
	empty := runtimes.Screen{Composer: true}
	for name, c := range map[string]struct {
		kind   daemon.DeliveryKind
		enters int
		screen runtimes.Screen
		want   bool
	}{
		"it is gone":               {daemon.KindCommand, 1, empty, true},
		"a person types already":   {daemon.KindCommand, 1, runtimes.Screen{Composer: true, Draft: "and then"}, true},
		"it has opened a dialog":   {daemon.KindCommand, 1, runtimes.Screen{Dialog: "model picker"}, true},
		"it still stands there":    {daemon.KindCommand, 2, runtimes.Screen{Composer: true, Draft: "/effort high"}, false},
		"it is not drawn yet":      {daemon.KindCommand, 0, empty, false},
		"a dialog before its time": {daemon.KindCommand, 0, runtimes.Screen{Dialog: "permission"}, false},
		"no composer":              {daemon.KindCommand, 1, runtimes.Screen{}, false},
		"a message":                {daemon.KindMessage, 1, empty, false},
	} {
		equal(t, name, leftComposer(&daemon.Delivery{Kind: c.kind, Attempts: c.enters, Text: "/effort high"}, &sight.Screen{Screen: c.screen}), c.want)
	}
}
