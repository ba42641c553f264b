package usage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestFilesOfSubagents: sub-agents' transcripts count at any depth below the session's folder; outputs of tools and links do not.
func TestFilesOfSubagents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "session")
	for _, path := range []string{"subagents/agent-1.jsonl", "subagents/workflows/w1/agent-2.jsonl", "subagents/workflows/w1/deeper/still/agent-3.jsonl", "tool-results/copy.jsonl", "subagents/agent-1.meta.json"} {
		path = filepath.Join(dir, path)
		wardentest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		wardentest.Must(t, os.WriteFile(path, nil, 0o600))
	}
	wardentest.Must(t, os.Symlink("/etc/hosts", filepath.Join(dir, "subagents", "link.jsonl")))
	want := []string{filepath.Join(dir, "subagents/agent-1.jsonl"), filepath.Join(dir, "subagents/workflows/w1/agent-2.jsonl"), filepath.Join(dir, "subagents/workflows/w1/deeper/still/agent-3.jsonl")}
	wardentest.Equal(t, "files", filesOfSubagents(dir), want)
	if got := filesOfSubagents(filepath.Join(dir, "none")); len(got) > 0 {
		t.Errorf("%q of a session without sub-agents", got)
	}
}
