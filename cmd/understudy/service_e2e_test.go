//go:build e2e

package main

import (
	"os"
	"testing"
)

// TestServiceBesideDaemon: while a daemon runs that init does not know there is no second one; that of init
// is waited for and told.
func TestServiceBesideDaemon(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := newRig(t).start()
	m.root = r.root
	m.describe("/usr/bin")
	m.service.patience = eventually
	m.wants(install, "a daemon runs on the data directory already", "")
	if _, err := os.Stat(m.service.path); err == nil {
		t.Error("the file was written")
	}
	m.file("running", true)
	m.wants(install, "", "daemon-reload; enable understudy.service; restart understudy.service", "it runs", "`loginctl enable-linger`", "UNDERSTUDY_LISTEN")
	m.wants(install, "", "enable understudy.service", "it is installed already, and runs")
	m.wants((*serviceRun).status, "", "", "running         yes", "daemon answers  yes")
	m.file("running", false)
	m.wants((*serviceRun).status, "", "", "running         no", "it does not run: `journalctl --user -u understudy -n 20`")
}
