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
		"v2.1.212-beta.1": true, "2.1": false, "2.1.x": false, "-1.2.3": false,
	} {
		err := CheckVersion(version)
		equal(t, version+" is refused", err != nil, refused)
		if err != nil && !strings.Contains(err.Error(), "2.1.213") {
			t.Errorf("%q: %q does not name the oldest that works", version, err)
		}
	}
}
