package db

import (
	"errors"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

func TestHostRoot(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.HostRoot(t.Context(), "h1"); !errors.Is(err, daemon.ErrNotFound) {
		t.Errorf("host that was never seen: %v, want ErrNotFound", err)
	}
	if err := db.Heartbeat(t.Context(), Host{ID: "h1", DataRoot: "/srv/data"}); err != nil {
		t.Fatal(err)
	}
	if root, err := db.HostRoot(t.Context(), "h1"); root != "/srv/data" || err != nil {
		t.Errorf("data directory %q, %v; want /srv/data", root, err)
	}
}
