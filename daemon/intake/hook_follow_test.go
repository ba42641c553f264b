package intake

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks"
)

// TestSessionEndsElsewhere: a session moves, and its SessionEnd is the first hook that tells so, or overtakes the Stop that does. The agent
// is where its session worked; after an /exit that is not where the transcript is.
func TestSessionEndsElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		moved  bool // an earlier hook has told of the move
		late   bool // the Stop comes after the SessionEnd
		home   bool // the last turn has moved back to where the session began
		ended  bool // the end was committed before
	}{
		{reason: "other"}, {reason: "other", late: true}, {reason: "other", moved: true, late: true}, {reason: "other", ended: true},
		{reason: "prompt_input_exit", moved: true}, {reason: "clear", moved: true}, {reason: "prompt_input_exit", moved: true, ended: true},
		{reason: "prompt_input_exit", late: true}, {reason: "prompt_input_exit", late: true, ended: true},
		{reason: "prompt_input_exit", moved: true, late: true, home: true}, {reason: "prompt_input_exit", moved: true, late: true, home: true, ended: true},
	} {
		h, work, tree := hookedAgent(t), t.TempDir(), t.TempDir()
		session, config := "S", t.TempDir()
		in := func(dir string) map[string]any {
			folder := strings.ReplaceAll(dir, "/", "-")
			return map[string]any{"session_id": session, "cwd": dir, "transcript_path": filepath.Join(config, "projects", folder, session+".jsonl")}
		}
		h.moves = map[engine.Move]bool{{From: work, To: tree}: true, {From: tree, To: work}: true}
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
			h.agent.State = daemon.Ended
		}
		h.takes("SessionEnd", end)
		want := tree
		if c.home {
			want = work
		}
		if c.late {
			h.takes("Stop", in(want))
		}
		if a := h.agent; a.Cwd != want || *a.TranscriptPath != end["transcript_path"] {
			t.Errorf("%+v: in %s, not %s, with transcript %s", c, a.Cwd, want, *a.TranscriptPath)
		}
	}
}

// TestSessionStartTellsOfAMove: a session may move and be compacted or cleared before any other hook is heard. The shell's cd alone does
// not move it.
func TestSessionStartTellsOfAMove(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"compact", "clear"} {
		for _, moves := range []bool{true, false} {
			h, work, tree := hookedAgent(t), t.TempDir(), t.TempDir()
			config, folder := t.TempDir(), work
			in := func(session, shell string) map[string]any {
				path := filepath.Join(config, "projects", strings.ReplaceAll(folder, "/", "-"), session+".jsonl")
				return map[string]any{"session_id": session, "source": source, "cwd": shell, "transcript_path": path}
			}
			h.moves = map[engine.Move]bool{{From: work, To: tree}: true}
			h.agent.Runtime, h.agent.Cwd = "claude", work
			h.takes("UserPromptSubmit", in("S", work))
			want, session := work, "S"
			if moves {
				want, folder = tree, tree
			}
			if source == "clear" {
				session = "T"
			}
			h.takes("SessionStart", in(session, tree))
			if a := h.agent; a.Cwd != want || *a.SessionID != session {
				t.Errorf("%s, moves %t: session %s in %s, not %s", source, moves, *a.SessionID, a.Cwd, want)
			}
		}
	}
}

// TestEndedIn: the end of a turn that a SessionEnd has overtaken tells where the session worked, unless its shell may have gone there alone.
func TestEndedIn(t *testing.T) {
	t.Parallel()
	const home = "/c/projects/-w-r/S.jsonl"
	for _, c := range []struct{ row, cwd, event, turn, want string }{
		{"/w/r/.claude/worktrees/x", "/w/r", "Stop", "T", "/w/r"},
		{"/w/r/.claude/worktrees/x", "/w/r/sub", "StopFailure", "T", "/w/r"},
		{"/w/r/.claude/worktrees/x", "/w/r/.claude/worktrees/x/sub", "Stop", "T", ""}, // a session that was opened again there
		{"/w/r/.claude/worktrees/x", "/w/r", "Stop", "S", ""},                         // the end of an earlier turn
		{"/w/r/.claude/worktrees/x", "/w/r", "UserPromptSubmit", "T", ""},
		{"/w/r/.claude/worktrees/x", "/tmp", "Stop", "T", ""},
		{"/w/r", "/w/r/sub", "Stop", "T", ""},
	} {
		a := &daemon.Agent{AgentSession: daemon.AgentSession{Cwd: c.row}, AgentTurn: daemon.AgentTurn{TurnPromptID: "T"}}
		equal(t, fmt.Sprint(c), endedIn(claude.Runtime, a, &hooks.Payload{Event: c.event, PromptID: c.turn, CWD: c.cwd, TranscriptPath: home}), c.want)
	}
}

// TestOnlyItsOwnSessionMovesAnAgent: neither a sub-agent, nor another session, nor the shell, nor a path that cannot be moves an agent.
func TestOnlyItsOwnSessionMovesAnAgent(t *testing.T) {
	t.Parallel()
	h, work, dir, projects := hookedAgent(t), t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "projects")
	in := func(dir, session string) string {
		return filepath.Join(projects, strings.ReplaceAll(dir, "/", "-"), session+".jsonl")
	}
	h.moves = map[engine.Move]bool{{From: work, To: dir}: true}
	h.agent.Runtime, h.agent.Cwd = "claude", work
	h.takes("UserPromptSubmit", map[string]any{"session_id": "S", "cwd": work, "transcript_path": in(work, "S")})
	for name, fields := range map[string]map[string]any{
		"a sub-agent":     {"agent_id": "a1", "cwd": dir, "transcript_path": in(dir, "S")},
		"another session": {"session_id": "T", "cwd": dir, "transcript_path": in(dir, "T")},
		"the shell":       {"cwd": dir, "transcript_path": in(work, "S")},
		"no such place":   {"cwd": filepath.Join(work, "gone"), "transcript_path": "/etc/S.jsonl"},
		"a relative path": {"cwd": "x", "transcript_path": "x/S.jsonl"},
		"another file":    {"cwd": dir, "transcript_path": in(dir, "T")},
		"its own session": {"cwd": dir, "transcript_path": in(dir, "S")},
	} {
		was := *h.agent
		if fields["session_id"] == nil {
			fields["session_id"] = "S"
		}
		h.takes("Notification", fields)
		if moved := h.agent.Cwd == dir && *h.agent.TranscriptPath == in(dir, "S"); moved != (name == "its own session") || !moved && h.agent.Cwd != work {
			t.Errorf("%s: in %s with transcript %s", name, h.agent.Cwd, *h.agent.TranscriptPath)
		}
		h.agent = &was
	}
}
