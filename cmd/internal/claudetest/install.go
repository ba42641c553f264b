package claudetest

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
)

// Version is the version of the CLI that the tests run: the pinned one, which is Tested in daemon/runtimes/claude.go,
// unless [npmtest.Version] says another. The golden screens under daemon/runtimes/testdata and the recording of its hooks
// in hooks/hookstest come from the pinned version: after a change there, run
//
//	go test -tags e2e ./cmd/internal/claudetest -run 'TestScreens|TestHooks' -update
var Version = npmtest.Version("claude", claude.Runtime.Can.Tested)

var installed = sync.OnceValues(install)

// Install returns the absolute path of the pinned CLI. The first call on a machine installs it from the npm registry (one
// native binary, about 380 MB) into the cache of [npmtest.Cache]. The test fails if the CLI is not cached and cannot be
// installed.
func Install(t testing.TB) string {
	t.Helper()
	path, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func install() (string, error) {
	system, arch, err := npmtest.Platform()
	if err != nil {
		return "", err
	}
	pkg := "@anthropic-ai/claude-code-" + system + "-" + arch
	argv, err := npmtest.Install(npmtest.Program{
		Name:     "claude-code-" + system + "-" + arch + "-" + Version,
		Packages: []string{pkg + "@" + Version},
		Keep:     pkg,
		Command:  func(dir string) ([]string, error) { return []string{filepath.Join(dir, "claude")}, nil },
		Version:  Version,
	})
	if err != nil {
		return "", err
	}
	return argv[0], nil
}
