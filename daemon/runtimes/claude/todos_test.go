package claude

import (
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestEffortIsKept: an answer shows its thinking level; a launch names it in place of the level in the options, and a copy
// names it too.
func TestEffortIsKept(t *testing.T) {
	t.Parallel()
	equal(t, "level", value(Runtime.ParseEntry([]byte(`{"type":"assistant","effort":"low","message":{"role":"assistant","content":[]}}`)))(t).Effort, "low")
	spec := runtimes.Spec{Command: []string{"claude"}, SessionID: "0a273dc6-ef5e-4e72-92d8-ad9bb55f6f1a", Dir: "/d", Options: []string{"--effort", "high", "--verbose"}, Effort: "low"}
	l, err := Runtime.Launch(spec)
	if got := strings.Join(l.Argv[3:], " "); err != nil || got != "--verbose --effort low" {
		t.Errorf("launch %q, %v", got, err)
	}
	spec.Effort = "--dangerously-skip-permissions"
	wardentest.Failed(Runtime.Launch(spec))(t, "a launch takes a level that is none")
	f, err := Runtime.Fork(runtimes.ForkSpec{Command: []string{"claude"}, SessionID: spec.SessionID, Effort: "low"})
	if i := slices.Index(f.Argv, "--effort"); err != nil || i < 0 || f.Argv[i+1] != "low" {
		t.Errorf("fork %q, %v", f.Argv, err)
	}
}
