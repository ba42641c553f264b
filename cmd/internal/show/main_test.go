package show

import (
	"os"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // what commands print for people is in local time
	os.Exit(wardentest.Run(m.Run))
}

// wantText compares what was written.
func wantText(t *testing.T, got, want string) {
	t.Helper()
	equal(t, "got", got, want)
}

// wantIn looks for texts in what was written.
func wantIn(t *testing.T, got string, wants ...string) {
	t.Helper()
	holds(t, "what was written", got, wants...)
}

var equal, holds = wardentest.Equal, wardentest.Holds
