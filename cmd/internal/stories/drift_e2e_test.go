//go:build e2e

package stories

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/npmtest"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
)

var (
	driftNames = flag.String("drift", "", "with TestDrift: try released versions of these runtimes (\"claude,codex\", or \"all\") and write down which pass; "+
		"\"claude@2.1.250\" adds one version to what is written down")
	driftSteps = flag.Int("drift-steps", 8, "with -drift: how many versions to try of each runtime, besides those that narrow down a change")
)

// driftStories are the short conformance test of a version: launch with the skill, texts to an idle agent, the end of its
// turn, a handoff with exit and successor, a kill and a resume.
const driftStories = "^(launch|idle|handoff|kill_and_resume)$"

// refusalStory is told of a version that CheckVersion refuses: the start says so at once.
const refusalStory = "^TestStartOfATooOldRuntimeIsRefused$"

const triedFile = "../../../daemon/runtimes/versions.json"

// driftPackages are the npm packages whose versions are the CLIs'.
func driftPackages(t *testing.T) map[string]string {
	t.Helper()
	system, arch, err := npmtest.Platform()
	must(t, err)
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
	for _, name := range catalog.Names() {
		if packages[name] == "" {
			t.Errorf("the package of %s is not known", name)
		}
	}
	if *driftNames == "" {
		return
	}
	names := strings.Split(*driftNames, ",")
	if *driftNames == "all" {
		names = catalog.Names()
	}
	for _, name := range names {
		name, version, _ := strings.Cut(name, "@")
		rt := value(catalog.For(name))(t)
		var measured runtimes.Tried
		if version != "" {
			outcome := outcomeOf(t, rt, version)
			measured = readTried(t)[name]
			measured.Add(version, outcome)
		} else {
			measured = tryReleased(t, rt, packages[name])
		}
		all := readTried(t)
		all[name] = measured
		writeTried(t, all)
		t.Logf("%s: tested with %s; failed: %s; refused: %s", rt.Title, measured.Words(), strings.Join(measured.Failed, " "), strings.Join(measured.Refused, " "))
	}
}

// tryReleased tries versions of a runtime's CLI among those that npm has: some that are new enough, the pinned one, and the
// newest that is too old.
func tryReleased(t *testing.T, rt *runtimes.Runtime, pkg string) runtimes.Tried {
	t.Helper()
	released := value(npmtest.Versions(pkg))(t)
	var enough, tooOld []string
	for _, version := range released {
		if rt.CheckVersion(version) == nil {
			enough = append(enough, version)
		} else {
			tooOld = append(tooOld, version)
		}
	}
	if len(enough) == 0 {
		t.Fatalf("npm has no version of %s that is new enough", rt.Title)
	}
	tried := tryVersions(enough, *driftSteps, func(version string) bool { return outcomeOf(t, rt, version) == runtimes.VersionPasses })
	if pin := rt.Can.Tested; tried.Verdict(pin) != runtimes.VersionPasses && tried.Verdict(pin) != runtimes.VersionFails {
		tried.Add(pin, outcomeOf(t, rt, pin))
	}
	if len(tooOld) > 0 {
		newest := tooOld[len(tooOld)-1]
		tried.Add(newest, outcomeOf(t, rt, newest))
	}
	t.Logf("%s: %d released versions that are not refused, %d tried", rt.Title, len(enough), len(tried.Passed)+len(tried.Failed))
	return tried
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
	equal(t, "one version", tryVersions([]string{"1.0.0"}, 5, func(string) bool { return true }).Words(), "1.0.0")
}

// errNotReleased says that npm cannot give a version.
var errNotReleased = errors.New("npm cannot install it")

// outcomeOf runs the short conformance test of one version, or the story of its refusal if it is too old. Nothing is known of
// a version that npm cannot give. The test fails if a version that is too old is not refused as it should be.
func outcomeOf(t *testing.T, rt *runtimes.Runtime, version string) runtimes.Verdict {
	t.Helper()
	tell, want, outcome := "^TestRuntime$/^"+rt.Name+"$/"+driftStories, strings.Count(driftStories, "|")+1, runtimes.VersionPasses
	if rt.CheckVersion(version) != nil {
		tell, want, outcome = refusalStory+"/^"+rt.Name+"$", 1, runtimes.VersionRefused
	}
	err := tellOf(t, rt, version, tell, want)
	if err != nil && outcome == runtimes.VersionRefused {
		t.Errorf("%s %s is too old: %v", rt.Title, version, err)
	}
	switch {
	case err == nil:
		return outcome
	case errors.Is(err, errNotReleased):
		return runtimes.VersionUnknown
	}
	return runtimes.VersionFails
}

// tellOf runs stories with one version of a CLI in a process of its own.
func tellOf(t *testing.T, rt *runtimes.Runtime, version, tell string, want int) error {
	t.Helper()
	self := value(os.Executable())(t)
	cmd := exec.Command(self, "-test.run", tell, "-test.timeout", "10m", "-test.v")
	// Not below this process's own temporary directory, whose paths are longer: the story of the handoff fails there with four
	// of the CLIs, and that of the resumption with Gemini CLI. A text of more than 800 characters becomes a file, which the
	// stories' model does not read; that would explain the first.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	cmd.Env = append(cmd.Env, npmtest.VersionVariable+rt.Name+"="+version)
	if version != rt.Can.Tested { // what only this trial needs is gone after it
		cache, err := npmtest.Cache()
		if err == nil {
			cache, err = os.MkdirTemp(cache, "drift-")
		}
		must(t, err)
		defer os.RemoveAll(cache)
		cmd.Env = append(cmd.Env, "UNDERSTUDY_CACHE="+cache)
	}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if told := len(toldStory().FindAllString(string(out), -1)); err == nil && told != want {
		err = fmt.Errorf("%d stories were told, want %d", told, want)
	}
	t.Logf("%s %s: %s after %v", rt.Title, version, map[bool]string{true: "as it should be", false: "fails"}[err == nil], time.Since(began).Round(time.Second))
	if err != nil {
		if strings.Contains(string(out), "from the npm registry, which could not be reached or does not have it") {
			err = errNotReleased
		}
		t.Logf("%v:\n%s", err, strings.Join(failureLine().FindAllString(string(out), 12), "\n"))
	}
	return err
}

// toldStory finds the stories that have passed: the innermost subtests.
var toldStory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^ +--- PASS: (TestRuntime/.+/|TestStartOfATooOldRuntimeIsRefused/)`)
})

// failureLine finds what a test says of its failure.
var failureLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^ *\w+_test\.go:\d+: (?:[^r\n]|r[^e\n]).{0,500}`)
})

// readTried reads what was measured before, earlier in this run as well.
func readTried(t *testing.T) map[string]runtimes.Tried {
	t.Helper()
	b, err := os.ReadFile(triedFile)
	all := map[string]runtimes.Tried{}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	must(t, err)
	return all
}

func writeTried(t *testing.T, all map[string]runtimes.Tried) {
	t.Helper()
	b, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(triedFile, append(b, '\n'), 0o644)
	}
	must(t, err)
}
