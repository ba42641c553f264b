//go:build e2e

package service

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/db"
	"github.com/understudyd/understudy/db/dbtest"
)

// TestServiceBesideDaemon: while a daemon runs that init does not know there is no second one; that of init
// is waited for and told.
func TestServiceBesideDaemon(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	serveIn(t, m.root)
	m.describe("/usr/bin")
	m.service.patience = cmdtest.Eventually
	m.wants(installing, "a daemon runs on the data directory already", "")
	if _, err := os.Stat(m.service.path); err == nil {
		t.Error("the file was written")
	}
	m.file("running", true)
	m.wants(installing, "", "daemon-reload; enable understudy.service; restart understudy.service", "the service runs", "`loginctl enable-linger`", "UNDERSTUDY_LISTEN")
	m.wants(installing, "", "enable understudy.service", "the service is installed already, and runs")
	m.wants((*serviceRun).status, "", "", "running         yes", "daemon answers  yes")
	m.file("running", false)
	m.wants((*serviceRun).status, "", "", "running         no", "the service does not run: `journalctl --user -u understudy -n 20`")
}

// serveIn runs a daemon of the real program on a data directory, until the test ends.
func serveIn(t *testing.T, root string) {
	t.Helper()
	var said cmdtest.Printed
	daemon := exec.Command(cmdtest.MainProgram(t), "serve", "--data", root, "--listen", "none", "--database-url", dbtest.New(t, db.Migrate))
	daemon.Stderr = &said
	must(t, daemon.Start())
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		_ = daemon.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), cmdtest.Eventually)
	defer cancel()
	for client := api.NewClient(data.At(root).Socket()); ; {
		if _, err := client.Health(ctx); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no daemon answers:\n%s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
