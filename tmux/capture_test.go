package tmux_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// TestReadingPanesCostsTheServerNoMemory: panes are read all day, and a tmux server lives for weeks.
func TestReadingPanesCostsTheServerNoMemory(t *testing.T) {
	s := tmuxtest.Server(t)
	var refs []tmux.Ref
	for i := range 30 {
		refs = append(refs, spawn(t, s, fmt.Sprintf("s%d", i)).Ref)
	}
	read := func(times int) {
		for range times {
			screens, err := s.Capture(t.Context(), 0, true, refs...)
			if err != nil || len(screens) != len(refs) {
				t.Fatalf("%d screens, %v", len(screens), err)
			}
		}
	}
	read(20) // what the server allocates once
	before := residentKB(t, refs[0].ServerPID)
	read(100)
	// With a test of each pane by if-shell, tmux 3.3a keeps 3,000 kB.
	if grown := residentKB(t, refs[0].ServerPID) - before; grown > 1000 {
		t.Errorf("after 3,000 screens the server has %d kB more", grown)
	}
}

func residentKB(t *testing.T, pid int) (kb int) {
	t.Helper()
	status := value(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	value(fmt.Sscan(rest, &kb))(t)
	return kb
}
