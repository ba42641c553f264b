//go:build e2e

package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/doctor"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
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

// awaitNotReady waits until the daemon says that it cannot work, with this code.
func awaitNotReady(r *rig, code string) {
	r.t.Helper()
	r.await("not ready: "+code, func() (bool, string) {
		_, err := r.client.Ready(r.t.Context())
		var e *daemon.Error
		return errors.As(err, &e) && string(e.Code) == code, fmt.Sprint(err)
	})
}

func awaitReady(r *rig) {
	r.t.Helper()
	r.await("the daemon ready", func() (bool, string) {
		_, err := r.client.Ready(r.t.Context())
		return err == nil, fmt.Sprint(err)
	})
}

// TestReadOnlyDatabaseLosesNothing: The operator is told, nothing is lost, and the daemon does afterwards what was
// asked for.
func TestReadOnlyDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := dbtest.Admin(t, r.cfg.Settings.DatabaseURL)
	r.start()
	a := r.startAgent("developer-con-1")
	run(dbtest.SetReadOnly)
	awaitNotReady(r, "database_read_only")
	_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true})
	wantCode(t, err, "database_read_only")
	if f := doctor.CheckShared(t.Context(), r.cfg.Settings.DatabaseURL); f.State != doctor.FindingMissing || !strings.Contains(f.Detail, "read-only") {
		t.Errorf("doctor: %+v", f)
	}
	run(dbtest.SetWritable)
	over := time.Now()
	equal(t, "doctor", doctor.CheckShared(t.Context(), r.cfg.Settings.DatabaseURL).State, doctor.FindingOK)
	awaitReady(r)
	if took := time.Since(over); took > 5*time.Second {
		t.Errorf("the daemon was ready %s after the database took writes again", took)
	} else {
		t.Logf("the daemon was ready %s after the database took writes again", took.Round(time.Millisecond))
	}
	awaitAlertEvent(r, "database_lost")
	r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
}
