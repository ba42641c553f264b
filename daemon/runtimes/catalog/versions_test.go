package catalog

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks/hookstest"
)

// TestTried holds versions.json against the runtimes: a version that is said to work is not refused at the launch, the
// pinned version is among those that work, and nothing is said of a runtime that does not exist.
func TestTried(t *testing.T) {
	t.Parallel()
	equal(t, "versions.json is about (run `just drift`)", slices.Sorted(maps.Keys(runtimes.Measured())), slices.Sorted(slices.Values(Names())))
	for _, rt := range all {
		tried := rt.Tried()
		oldest, newest := tried.Range()
		if !slices.Contains(tried.Passed, rt.Can.Tested) || runtimes.CompareVersions(rt.Can.Tested, oldest) < 0 || runtimes.CompareVersions(rt.Can.Tested, newest) > 0 {
			t.Errorf("%s: the pinned version %s is not among %s – %s: run `just drift`", rt.Name, rt.Can.Tested, oldest, newest)
		}
		for _, list := range [][]string{tried.Passed, tried.Failed, tried.Refused} {
			if !slices.IsSortedFunc(list, runtimes.CompareVersions) {
				t.Errorf("%s: %v is not sorted", rt.Name, list)
			}
		}
		for _, version := range tried.Passed {
			if err := rt.CheckVersion(version); err != nil {
				t.Errorf("%s %s passes its tests and is refused: %v", rt.Name, version, err)
			}
			equal(t, rt.Name+" "+version+": it passes its tests, the verdict is another", tried.Verdict(version+" (as it is printed)"), runtimes.VersionPasses)
		}
		for _, version := range tried.Failed {
			if err := rt.CheckVersion(version); err == nil && runtimes.CompareVersions(version, oldest) < 0 {
				t.Errorf("%s %s fails its tests, is older than all that pass, and is not refused at the launch", rt.Name, version)
			}
		}
	}
}

// TestRecordedVersions: the screens of each CLI, what it asks in its modes, and the hooks of Claude Code were recorded with the pinned
// version. So they need not be recorded in each run of the tests.
func TestRecordedVersions(t *testing.T) {
	t.Parallel()
	for _, rt := range all {
		screens, from := filepath.Join(rt.Name, "version"), "realcli"
		if rt == claude.Runtime {
			screens, from = filepath.Join("screens", "version"), "claudetest"
		}
		for path, record := range map[string]string{screens: from + " -run TestScreens -update", "asks_" + rt.Name + "_version": "stories -run TestModes -modes " + rt.Name} {
			version, err := os.ReadFile(filepath.Join("../testdata", path))
			if err != nil || strings.TrimSpace(string(version)) != rt.Can.Tested {
				t.Errorf("%s has version %q (%v), and the pinned one is %s: run go test -tags e2e ./cmd/internal/%s", path, version, err, rt.Can.Tested, record)
			}
		}
	}
	hooks, err := hookstest.Load()
	if err != nil || hooks.Version != claude.Runtime.Can.Tested {
		t.Errorf("the hooks of claude were recorded with version %q (%v), and the pinned one is %s: run go test -tags e2e ./cmd/internal/claudetest -run TestHooks -update",
			hooks.Version, err, claude.Runtime.Can.Tested)
	}
}

// TestTooOldIsSaid: each version that was seen to be refused is refused in words that say so.
func TestTooOldIsSaid(t *testing.T) {
	t.Parallel()
	for _, rt := range all {
		if len(rt.Tried().Refused) == 0 {
			t.Errorf("%s: no real version was seen to be refused: run `just drift`", rt.Name)
		}
		for _, version := range rt.Tried().Refused {
			wantErr(t, fmt.Sprintf("%s %s", rt.Name, version), rt.CheckVersion(version), version+" is too old")
		}
	}
}
