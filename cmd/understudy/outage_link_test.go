package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/db/dbtest"
)

// notReady waits until the daemon says that it cannot work, for that reason.
func (r *rig) notReady(code string) {
	r.t.Helper()
	r.await("not ready: "+code, func() (bool, string) {
		_, err := r.client.Ready(r.t.Context())
		var e *daemon.Error
		return errors.As(err, &e) && e.Code == code, errText(err)
	})
}

func (r *rig) ready() {
	r.t.Helper()
	r.await("ready", func() (bool, string) {
		_, err := r.client.Ready(r.t.Context())
		return err == nil, errText(err)
	})
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// alerted waits for an event of the type that the operator is told of.
func (r *rig) alerted(kind string) {
	r.t.Helper()
	r.await(kind, func() (bool, string) {
		events, err := r.events(context.Background())
		return slices.ContainsFunc(events, func(e daemon.Event) bool { return e.Type == kind && e.Alert }), errText(err)
	})
}

// TestAddressChanges: all connections to a shared database are dead without a word, and the server goes on
// keeping the host's lock for the daemon's old session. The daemon takes its host back and goes on.
func TestAddressChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := dbtest.NewLink(t, r.cfg.Settings.DatabaseURL)
	past := r.cfg.Settings.DatabaseURL
	r.cfg.Settings.DatabaseURL = link.ConnString()
	r.start()
	a := r.agent("developer-con-1")
	link.Cut()
	r.notReady("database_unavailable")
	link.Mend()
	mended := time.Now()
	r.ready()
	if took := time.Since(mended); took > 15*time.Second {
		t.Errorf("back %s after the network", took)
	} else {
		t.Logf("back %s after the network", took.Round(time.Millisecond))
	}
	r.cfg.Settings.DatabaseURL = past // to look at
	r.alerted("database_lost")
	r.awaitPhase(r.handoff(a.ID), daemon.Completed)
}

// TestPowerFailure: the daemon is gone, and the server has not noticed. The next one waits, says what for,
// and takes the host.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	direct := r.cfg.Settings.DatabaseURL
	link := dbtest.NewLink(t, direct)
	r.cfg.Settings.DatabaseURL = link.ConnString()
	first := r.child()
	a := r.agent("developer-con-1")
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
	t.Logf("back after %s", time.Since(began).Round(time.Millisecond))
	stop()
	<-looking
	if !waits.Load() || !alive.Load() {
		t.Errorf("while it waited it said so: %t, and that it is alive: %t", waits.Load(), alive.Load())
	}
	r.awaitPhase(r.handoff(a.ID), daemon.Completed)
}

// TestReadOnlyDatabase: the database takes no writes for a while. That is said, nothing is lost, and what was
// asked for afterwards is done.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := dbtest.Admin(t, r.cfg.Settings.DatabaseURL)
	r.start()
	a := r.agent("developer-con-1")
	run(dbtest.SetReadOnly)
	r.notReady("database_read_only")
	_, err := r.client.RequestHandoff(t.Context(), a.ID, daemon.HandoffRequest{Force: true})
	wantCode(t, err, "database_read_only")
	if f := checkShared(t.Context(), r.cfg.Settings.DatabaseURL); f.State != findingMissing || !strings.Contains(f.Detail, "read-only") {
		t.Errorf("doctor: %+v", f)
	}
	run(dbtest.SetWritable)
	over := time.Now()
	if f := checkShared(t.Context(), r.cfg.Settings.DatabaseURL); f.State != findingOK {
		t.Errorf("doctor: %+v", f)
	}
	r.ready()
	if took := time.Since(over); took > 5*time.Second {
		t.Errorf("back %s after it was over", took)
	} else {
		t.Logf("back %s after it was over", took.Round(time.Millisecond))
	}
	r.alerted("database_lost")
	r.awaitPhase(r.handoff(a.ID), daemon.Completed)
}
