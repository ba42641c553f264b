package runtimes

import (
	"slices"
	"testing"
)

func TestTriedAdd(t *testing.T) {
	t.Parallel()
	tried := Tried{Passed: []string{"1.9.0", "1.18.3"}, Failed: []string{"1.10.0"}}
	was := slices.Clone(tried.Passed)
	tried.Add("1.10.0", VersionPasses)
	tried.Add("1.2.0", VersionRefused)
	tried.Add("1.9.0", VersionFails)
	want := Tried{Passed: []string{"1.10.0", "1.18.3"}, Failed: []string{"1.9.0"}, Refused: []string{"1.2.0"}}
	equal(t, "tried", tried, want)
	if tried = (Tried{Passed: was}); !slices.Equal(tried.Passed, []string{"1.9.0", "1.18.3"}) {
		t.Errorf("the measured list was changed to %v", tried.Passed)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tried := Tried{Passed: []string{"1.9.0", "1.18.3", "1.18.30", "1.20.0"}, Failed: []string{"1.10.0", "1.20.1"}}
	equal(t, "range", tried.Words(), "1.18.3 – 1.20.0")
	for version, want := range map[string]Verdict{
		"1.18.3": VersionPasses, "codex-cli 1.20.1": VersionFails, "v1.20.2": VersionNewer, "1.19.0": VersionUnknown, "": VersionUnknown,
		"a wrapper": VersionUnknown,
	} {
		equal(t, version+": verdict", tried.Verdict(version), want)
	}
	if got := (Tried{}).Verdict("1.0.0"); got != VersionUnknown || (Tried{}).Words() != "" {
		t.Errorf("nothing was tried: verdict %d, %q", got, (Tried{}).Words())
	}
}
