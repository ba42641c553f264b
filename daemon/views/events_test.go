package views

import (
	"testing"
)

func TestUnknownEventTypeIsRefusedWithTheNearest(t *testing.T) {
	t.Parallel()
	for types, want := range map[string]string{
		"handoff_failed":   "",
		"handoff_briefing": "",
		"agent_idle":       "",
		"handof_failed":    `"handof_failed" is no type of event: the nearest are handoff_failed, agent_failed, handoff_read`,
		"worktree":         `"worktree" is no type of event: the nearest are worktree_asked, worktree_failed, worktree_kept`,
	} {
		got := ""
		if err := CheckEventTypes([]string{"agent_ended", types}); err != nil {
			got = err.Error()
		}
		equal(t, types, got, want)
	}
	if err := CheckEventTypes(nil); err != nil {
		t.Errorf("of all: %v", err)
	}
}
