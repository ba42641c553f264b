package hooks

import (
	"strings"
	"testing"
)

// TestCheckVersion: a version that is too old to register is refused; a text that is no version is not.
func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, refused := range map[string]bool{
		"2.1.200 (Claude Code)": true, "2.1.212": true, "1.0.128 (Claude Code)": true,
		"2.1.213 (Claude Code)": false, "2.1.329 (Claude Code)": false, "3.0.0": false, "": false, "a wrapper": false,
	} {
		err := CheckVersion(version)
		if (err != nil) != refused {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), "2.1.213") {
			t.Errorf("%q: %q does not name the oldest that works", version, err)
		}
	}
}

func TestKnownEvents(t *testing.T) {
	t.Parallel()
	all := KnownEvents("2.1.329 (Claude Code)\n")
	if len(all) != len(since) {
		t.Errorf("2.1.329 knows %v", all)
	}
	for _, event := range all {
		if !Known(event) {
			t.Errorf("%s is not in the list of names", event)
		}
	}
	for version, want := range map[string][]string{
		"2.1.77 (Claude Code)": without(all, StopFailure),
		"2.1.78-beta.1":        all,
		"v2.0.44":              without(all, StopFailure, PermissionRequest),
		"10.0.0":               all,
		"1.0.84":               {SessionStart, UserPromptSubmit, Stop, Notification, PreCompact},
		"":                     core,
		"unknown":              core,
		"2.1":                  core,
		"2.1.x":                core,
		"-1.2.3":               core,
	} {
		equal(t, "KnownEvents("+version+")", KnownEvents(version), want)
	}
	for version, want := range map[string]bool{"2.1.138": false, "2.1.139 (Claude Code)": true, "": false} {
		equal(t, "SupportsExecForm("+version+")", SupportsExecForm(version), want)
	}
}
