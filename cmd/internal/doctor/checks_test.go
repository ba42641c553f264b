package doctor

import (
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestMarkOfAVersion: a version that is newer than all that were tried has no tick.
func TestMarkOfAVersion(t *testing.T) {
	t.Parallel()
	rt := claude.Runtime
	_, newest := rt.Tried().Range()
	for version, want := range map[string]string{newest + " (Claude Code)": FindingOK, "99.1.0 (Claude Code)": FindingUntried, "dev": FindingOK} {
		wardentest.Equal(t, version, checkTried("claude", version, rt).State, want)
	}
}
