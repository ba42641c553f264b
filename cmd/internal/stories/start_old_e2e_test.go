//go:build e2e

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

// tooOld has a version of each CLI with which no agent could be supervised, and what its refusal says is to be done. A Claude
// Code of this version starts and never registers.
var tooOld = map[string]struct{ version, advice string }{
	"claude":   {"2.1.200", "the oldest that does is 2.1.213; update it, as with `claude update`"},
	"codex":    {"0.166.0", "update it to 0.169 or newer"},
	"opencode": {"1.17.0", "install 1.18.33 or newer"},
	"omp":      {"18.1.16", "install 18.2.3"},
	"gemini":   {"0.60.0", "update it to 0.61 or newer"},
}

// TestStartOfATooOldRuntimeIsRefused: the start says at once that the CLI is too old and which version is needed. A script
// stands for the CLI, unless the variable of npmtest names a version that is too old: then it is the real CLI from npm.
// `just drift` sets that variable.
func TestStartOfATooOldRuntimeIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	versions := map[string]string{}
	for _, c := range runtimeCases {
		rt := value(catalog.For(c.name))(t)
		versions[c.name] = tooOld[c.name].version
		if named := npmtest.Version(c.name, rt.Can.Tested); rt.CheckVersion(named) != nil {
			place := c.place(t, complies)
			versions[c.name], r.cfg.Environ, r.work = named, place.environ, place.work
			r.cfg.Settings.Runtimes[c.name] = serve.RuntimeSettings{Command: place.command}
			continue
		}
		script := filepath.Join(filepath.Dir(r.root), "old-"+c.name)
		writeFile(r, script, "#!/bin/sh\necho '"+versions[c.name]+"'\n")
		must(t, os.Chmod(script, 0o700))
		r.cfg.Settings.Runtimes[c.name] = serve.RuntimeSettings{Command: []string{script}}
	}
	r.start()
	for _, c := range runtimeCases {
		t.Run(c.name, func(t *testing.T) {
			s := sit(r, false, "agent", "start", con, "--cwd", r.work, "--runtime", c.name)
			s.wantExit(1)
			s.awaitPrinted(versions[c.name]+" is too old to be supervised|"+versions[c.name]+" is too old to register", 1)
			a := newestAgent(r)
			if a.Runtime != c.name || a.HasPane() || a.Active() {
				t.Errorf("agent %+v", a)
			}
			r.await("the operator is told what to do", func() (bool, string) {
				told := r.agentEvents(a.ID, "operator_notified")
				return len(told) == 1 && strings.Contains(field(t, told[0], "message").(string), tooOld[c.name].advice), fmt.Sprint(len(told))
			})
		})
	}
}
