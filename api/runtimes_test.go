package api

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// TestRuntimes: a runtime that is not configured is listed with what to do, and each says something about each topic.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	list := value(h.client.Runtimes(t.Context()))(t)
	if len(list) < len(catalog.All()) {
		t.Fatalf("%d runtimes, want at least %d", len(list), len(catalog.All()))
	}
	for _, r := range list {
		equal(t, r.Name+" has either a command or a problem", r.Problem == "", len(r.Command) > 0)
		equal(t, "facts of "+r.Name, len(r.Facts), len(list[0].Facts))
	}
}
