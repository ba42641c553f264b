//go:build e2e

package stories

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

// TestDaemonTakesItsHostBackAfterItsNetworkChanged: All connections to a shared database die without an error. The
// server keeps the host's lock for the daemon's old session. The daemon takes its host back and goes on.
func TestDaemonTakesItsHostBackAfterItsNetworkChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := dbtest.NewLink(t, r.cfg.Settings.DatabaseURL)
	past := r.cfg.Settings.DatabaseURL
	r.cfg.Settings.DatabaseURL = link.ConnString()
	r.start()
	a := r.startAgent("developer-con-1")
	link.Cut()
	awaitNotReady(r, "database_unavailable")
	link.Mend()
	mended := time.Now()
	awaitReady(r)
	if took := time.Since(mended); took > 15*time.Second {
		t.Errorf("the daemon was ready %s after the network was back", took)
	} else {
		t.Logf("the daemon was ready %s after the network was back", took.Round(time.Millisecond))
	}
	r.cfg.Settings.DatabaseURL = past // The rig reads the database past the network.
	awaitAlertEvent(r, "database_lost")
	r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
}

// TestNextDaemonTakesTheHostAfterAPowerFailure: The daemon is gone and the server has not noticed. The next daemon
// waits, says what it waits for, and takes the host.
func TestNextDaemonTakesTheHostAfterAPowerFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	direct := r.cfg.Settings.DatabaseURL
	link := dbtest.NewLink(t, direct)
	r.cfg.Settings.DatabaseURL = link.ConnString()
	first := startDaemonChild(r)
	a := r.startAgent("developer-con-1")
	link.Cut()
	first.kill()
	r.cfg.Settings.DatabaseURL = direct
	var alive, waits atomic.Bool
	looked, stop := context.WithCancel(t.Context())
	looking := make(chan struct{})
	go func() {
		defer close(looking)
		for looked.Err() == nil && !(alive.Load() && waits.Load()) {
			_, err := r.client.Ready(looked)
			if e, ok := errors.AsType[*daemon.Error](err); ok && e.Code == "host_waiting" {
				waits.Store(true)
				_, err := r.client.Health(looked)
				alive.Store(err == nil)
			}
		}
	}()
	began := time.Now()
	r.start()
	t.Logf("the daemon was ready after %s", time.Since(began).Round(time.Millisecond))
	stop()
	<-looking
	if !waits.Load() || !alive.Load() {
		t.Errorf("while it waited, it said what it waits for: %t, and answered as alive: %t", waits.Load(), alive.Load())
	}
	r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
}
