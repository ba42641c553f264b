//go:build e2e

package stories

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/daemon/runtimes"
)

var (
	driftNames = flag.String("drift", "", "with TestDrift: try released versions of these runtimes (\"claude,codex\", or \"all\") and write down which pass")
	driftSteps = flag.Int("drift-steps", 8, "with -drift: how many versions to try of each runtime, besides those that narrow down a change")
)

// driftStories are the short conformance test of a version: launch with the skill, texts to an idle agent, the end of its
// turn, a handoff with exit and successor, exit and resume.
const driftStories = "^(launch|idle|handoff|exit_and_resume)$"

const triedFile = "../../../daemon/runtimes/versions.json"

// driftPackages are the npm packages whose versions are the CLIs'.
func driftPackages(t *testing.T) map[string]string {
	t.Helper()
	system, arch, err := npmtest.Platform()
	if err != nil {
		t.Fatal(err)
	}
	platform := system + "-" + arch
	return map[string]string{
		"claude": "@anthropic-ai/claude-code-" + platform, "codex": "@openai/codex", "opencode": "opencode-" + platform,
		"omp": "@oh-my-pi/pi-coding-agent", "gemini": "@google/gemini-cli",
	}
}

// TestDrift: every runtime has a package whose versions can be tried. With -drift it tries them, each in a process of its
// own, and writes what it has measured to versions.json. That is `just drift`.
func TestDrift(t *testing.T) {
	packages := driftPackages(t)
	for _, name := range runtimes.Names() {
		if packages[name] == "" {
			t.Errorf("the package of %s is not known", name)
		}
	}
	if *driftNames == "" {
		return
	}
	names := strings.Split(*driftNames, ",")
	if *driftNames == "all" {
		names = runtimes.Names()
	}
	for _, name := range names {
		rt, err := runtimes.For(name)
		if err != nil {
			t.Fatal(err)
		}
		released, err := npmtest.Versions(packages[name])
		if err != nil {
			t.Fatal(err)
		}
		released = slices.DeleteFunc(released, func(v string) bool { return rt.CheckVersion(v) != nil })
		if len(released) == 0 {
			t.Fatalf("npm has no version of %s that is new enough", rt.Title)
		}
		passes := func(version string) bool { return versionPasses(t, rt, version) }
		tried := tryVersions(released, *driftSteps, passes)
		if pin := rt.Can.Tested; !slices.Contains(tried.Passed, pin) && !slices.Contains(tried.Failed, pin) && passes(pin) {
			tried.Passed = append(tried.Passed, pin)
			slices.SortFunc(tried.Passed, runtimes.CompareVersions)
		}
		writeTried(t, name, tried)
		t.Logf("%s: %d released versions that are not refused, %d tried; tested with %s; failed: %s", rt.Title, len(released),
			len(tried.Passed)+len(tried.Failed), tried.Words(), strings.Join(tried.Failed, " "))
	}
}

// tryVersions tries the oldest and the newest version and some between them, and then halves each gap at whose ends the
// results differ until the two versions are neighbours.
func tryVersions(versions []string, steps int, passes func(string) bool) (tried runtimes.Tried) {
	results := map[int]bool{}
	try := func(i int) bool {
		if _, known := results[i]; !known {
			results[i] = passes(versions[i])
		}
		return results[i]
	}
	last := len(versions) - 1
	steps = max(2, min(steps, len(versions)))
	before := 0
	for s := range steps {
		at := s * last / (steps - 1)
		for from, to := before, at; try(from) != try(to) && to-from > 1; {
			if middle := (from + to) / 2; try(middle) == try(from) {
				from = middle
			} else {
				to = middle
			}
		}
		before = at
	}
	tried.Passed, tried.Failed = []string{}, []string{}
	for i, version := range versions {
		switch passed, known := results[i]; {
		case known && passed:
			tried.Passed = append(tried.Passed, version)
		case known:
			tried.Failed = append(tried.Failed, version)
		}
	}
	return tried
}

// TestTryVersions: the first version that works, and a bad one in between, are found by few trials.
func TestTryVersions(t *testing.T) {
	t.Parallel()
	var versions []string
	for i := range 100 {
		versions = append(versions, fmt.Sprintf("1.0.%d", i))
	}
	trials := 0
	tried := tryVersions(versions, 5, func(v string) bool {
		trials++
		return runtimes.CompareVersions(v, "1.0.37") >= 0 && v != "1.0.99"
	})
	if got := tried.Words(); got != "1.0.37 – 1.0.98" || trials > 18 || len(tried.Passed)+len(tried.Failed) != trials {
		t.Errorf("%d trials: %s of %+v", trials, got, tried)
	}
	if got := tryVersions([]string{"1.0.0"}, 5, func(string) bool { return true }); got.Words() != "1.0.0" {
		t.Errorf("one version: %+v", got)
	}
}

// versionPasses runs the short conformance test of one version. A version that npm cannot give does not pass.
func versionPasses(t *testing.T, rt *runtimes.Runtime, version string) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestRuntime$/^"+rt.Name+"$/"+driftStories, "-test.timeout", "10m", "-test.v")
	// In this process's own temporary directory the paths of a second one would be too long for what is typed and for sockets.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	cmd.Env = append(cmd.Env, npmtest.VersionVariable+rt.Name+"="+version)
	if version != rt.Can.Tested { // what only this trial needs is gone after it
		cache, err := npmtest.Cache()
		if err == nil {
			cache, err = os.MkdirTemp(cache, "drift-")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(cache)
		cmd.Env = append(cmd.Env, "UNDERSTUDY_CACHE="+cache)
	}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Count(string(out), "        --- PASS: ") != strings.Count(driftStories, "|")+1 {
		err = fmt.Errorf("not all stories were told")
	}
	t.Logf("%s %s: %s after %v", rt.Title, version, map[bool]string{true: "passes", false: "fails"}[err == nil], time.Since(began).Round(time.Second))
	if err != nil {
		t.Logf("%v:\n%s", err, strings.Join(failureLine().FindAllString(string(out), 12), "\n"))
	}
	return err == nil
}

// failureLine finds what a test says of its failure.
var failureLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^ *\w+_test\.go:\d+: (?:[^r\n]|r[^e\n]).{0,500}`)
})

func writeTried(t *testing.T, name string, tried runtimes.Tried) {
	t.Helper()
	path, err := filepath.Abs(triedFile)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	all := map[string]runtimes.Tried{}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	all[name] = tried
	if b, err = json.MarshalIndent(all, "", "  "); err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
