package daemon

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// TestLeftComposer: a command is taken only if Enter was pressed for it and the composer, or a dialog in its place, is without it.
func TestLeftComposer(t *testing.T) {
	t.Parallel()
	empty := runtimes.Screen{Composer: true}
	for name, c := range map[string]struct {
		kind   DeliveryKind
		enters int
		screen runtimes.Screen
		want   bool
	}{
		"it is gone":               {KindCommand, 1, empty, true},
		"a person types already":   {KindCommand, 1, runtimes.Screen{Composer: true, Draft: "and then"}, true},
		"it has opened a dialog":   {KindCommand, 1, runtimes.Screen{Dialog: "model picker"}, true},
		"it still stands there":    {KindCommand, 2, runtimes.Screen{Composer: true, Draft: "/effort high"}, false},
		"it is not drawn yet":      {KindCommand, 0, empty, false},
		"a dialog before its time": {KindCommand, 0, runtimes.Screen{Dialog: "permission"}, false},
		"no composer":              {KindCommand, 1, runtimes.Screen{}, false},
		"a message":                {KindMessage, 1, empty, false},
	} {
		if got := leftComposer(&Delivery{Kind: c.kind, Attempts: c.enters, Text: "/effort high"}, &screen{Screen: c.screen}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
