package stories

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/doctor"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/db/dbtest"
)

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
	if f := doctor.CheckShared(t.Context(), r.cfg.Settings.DatabaseURL); f.State != doctor.FindingOK {
		t.Errorf("doctor: %+v", f)
	}
	awaitReady(r)
	if took := time.Since(over); took > 5*time.Second {
		t.Errorf("the daemon was ready %s after the database took writes again", took)
	} else {
		t.Logf("the daemon was ready %s after the database took writes again", took.Round(time.Millisecond))
	}
	awaitAlertEvent(r, "database_lost")
	r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
}
