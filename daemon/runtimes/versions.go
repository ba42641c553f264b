package runtimes

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// versionsJSON is what `just drift` has measured: for each runtime, the released versions that it tried.
//
//go:embed versions.json
var versionsJSON []byte

var Measured = sync.OnceValue(func() map[string]Tried {
	var all map[string]Tried
	if err := json.Unmarshal(versionsJSON, &all); err != nil {
		panic("runtimes: versions.json: " + err.Error()) // `just drift` writes it; a test reads it
	}
	return all
})

// Tried lists the released versions of a CLI that were run through a short conformance test, each list from old to new.
type Tried struct {
	Passed []string `json:"passed"`
	Failed []string `json:"failed"`
	// Refused are versions that CheckVersion refuses, and with which the real CLI was seen to be refused at its start.
	Refused []string `json:"refused,omitempty"`
}

// Add notes the verdict of one version, in place of an earlier one. A verdict other than VersionPasses, VersionFails and
// VersionRefused removes the version.
func (t *Tried) Add(version string, v Verdict) {
	for verdict, list := range map[Verdict]*[]string{VersionPasses: &t.Passed, VersionFails: &t.Failed, VersionRefused: &t.Refused} {
		kept := slices.DeleteFunc(slices.Clone(*list), func(have string) bool { return have == version })
		if verdict == v {
			kept = append(kept, version)
			slices.SortFunc(kept, CompareVersions)
		}
		*list = kept
	}
}

// Tried returns what was measured of the runtime's CLI.
func (rt *Runtime) Tried() Tried { return Measured()[rt.Name] }

// Range returns the newest version that passed, and the oldest that passed without a failed one in between; "": none passed.
func (t Tried) Range() (oldest, newest string) {
	for _, v := range slices.Backward(t.Passed) {
		if newest == "" {
			oldest, newest = v, v
		}
		if slices.ContainsFunc(t.Failed, func(f string) bool { return CompareVersions(v, f) < 0 && CompareVersions(f, newest) < 0 }) {
			break
		}
		oldest = v
	}
	return oldest, newest
}

// Words returns the range for people, such as "2.1.250 – 2.1.330"; "": none passed.
func (t Tried) Words() string {
	oldest, newest := t.Range()
	if oldest == newest {
		return oldest
	}
	return oldest + " – " + newest
}

// Verdict is what is known of a version.
type Verdict int

// The verdicts.
const (
	VersionUnknown Verdict = iota // it was not tried, and is between those that were, or its text is not a version
	VersionPasses
	VersionFails
	VersionNewer // than the newest that passed, and not tried
	VersionRefused
)

// Verdict judges a version as a CLI prints it.
func (t Tried) Verdict(printed string) Verdict {
	version := versionIn().FindString(printed)
	_, newest := t.Range()
	switch {
	case version == "":
		return VersionUnknown
	case slices.Contains(t.Failed, version):
		return VersionFails
	case slices.Contains(t.Passed, version):
		return VersionPasses
	case newest != "" && CompareVersions(version, newest) > 0:
		return VersionNewer
	}
	return VersionUnknown
}

var versionIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+(\.\d+)+`) })

// CompareVersions compares two versions by their numbers.
func CompareVersions(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(version string) (ns []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // what is not a number counts as 0
		ns = append(ns, n)
	}
	return ns
}

// NotBefore returns a [Runtime.CheckVersion] that refuses what is older than a version. update says how a person gets a newer one.
func NotBefore(title, oldest, update string) func(version string) error {
	return func(version string) error {
		v := fullVersion().FindString(version)
		if v == "" || CompareVersions(v, oldest) >= 0 {
			return nil
		}
		return fmt.Errorf("%s %s is too old to be supervised: %s", title, v, update)
	}
}

var fullVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b\d{1,4}\.\d{1,4}\.\d{1,4}\b`) })
