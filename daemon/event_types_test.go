package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestEventTypes: each type that stands in the sources of this package as that of an event is known.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	made := regexp.MustCompile(`[eE]vent\("([a-z]+_[a-z_]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllSubmatch(source, -1) {
			found++
			if typ := string(m[1]); typ[len(typ)-1] != '_' && !slices.Contains(EventTypes(), typ) {
				t.Errorf("%s: %s is not in EventTypes", file, typ)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d types were found in %d files", found, len(files))
	}
}

func TestCheckEventTypes(t *testing.T) {
	t.Parallel()
	for types, want := range map[string]string{
		"handoff_failed":   "",
		"handoff_briefing": "",
		"agent_idle":       "",
		"handof_failed":    `"handof_failed" is no type of event: the nearest are handoff_failed, agent_failed, handoff_started`,
		"worktree":         `"worktree" is no type of event: the nearest are pipeline_worktree_kept, pipeline_worktree_created, pipeline_worktree_removed`,
	} {
		got := ""
		if err := CheckEventTypes([]string{"agent_ended", types}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", types, got, want)
		}
	}
	if err := CheckEventTypes(nil); err != nil {
		t.Errorf("of all: %v", err)
	}
}
