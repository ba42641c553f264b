package daemon

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSessionEndsElsewhere: a session moves, and its SessionEnd is the first hook that tells so, or overtakes the Stop that does. The agent
// is where its session worked; after an /exit that is not where the transcript is.
func TestSessionEndsElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		moved  bool // an earlier hook has told of the move
		late   bool // the Stop comes after the SessionEnd
		ended  bool // the end was committed before
	}{
		{reason: "other"}, {reason: "other", late: true}, {reason: "other", moved: true, late: true}, {reason: "other", ended: true},
		{reason: "prompt_input_exit", moved: true}, {reason: "clear", moved: true}, {reason: "prompt_input_exit", moved: true, ended: true},
	} {
		h, work, tree := hookedAgent(t), t.TempDir(), t.TempDir()
		session, config := "S", t.TempDir()
		in := func(dir string) map[string]any {
			folder := strings.ReplaceAll(dir, "/", "-")
			return map[string]any{"session_id": session, "cwd": dir, "transcript_path": filepath.Join(config, "projects", folder, session+".jsonl")}
		}
		h.moves = map[move]bool{{work, tree}: true, {tree, work}: true}
		h.agent.Runtime, h.agent.Cwd = "claude", work
		h.takes("UserPromptSubmit", in(work))
		if c.moved {
			h.takes("Stop", in(tree))
		}
		end := in(tree)
		if c.reason != "other" {
			end = in(work)
		}
		end["reason"] = c.reason
		if c.ended {
			h.agent.State = Ended
		}
		h.takes("SessionEnd", end)
		if c.late {
			h.takes("Stop", in(tree))
		}
		if a := h.agent; a.Cwd != tree || *a.TranscriptPath != end["transcript_path"] {
			t.Errorf("%+v: in %s, not %s, with transcript %s", c, a.Cwd, tree, *a.TranscriptPath)
		}
	}
}
