package catalog

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/runtimes/codex"
)

// TestSessionDir: the directory of a session follows the folder of its transcript, and not the shell.
func TestSessionDir(t *testing.T) {
	long := "/w/" + strings.Repeat("a", 250)
	for _, c := range []struct {
		name, cwd, transcript, was string
		rt                         *runtimes.Runtime
		want                       string
		begins                     bool
	}{
		{"at home", "/w/my.repo", "/c/projects/-w-my-repo/S.jsonl", "/c/projects/-w-my-repo/S.jsonl", claude.Runtime, "", false},
		{"a session begins", "/w/my.repo", "/c/projects/-w-my-repo/S.jsonl", "", claude.Runtime, "/w/my.repo", true},
		{"a session is opened again in a work tree", "/w/r/.claude/worktrees/x", "/c/projects/-w-r/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "/w/r/.claude/worktrees/x", true},
		{"and goes on there", "/w/r/.claude/worktrees/x", "/c/projects/-w-r/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "", false},
		{"the first hook that comes is late", "/w/my.repo/sub", "/c/projects/-w-my-repo/S.jsonl", "", claude.Runtime, "/w/my.repo", false},
		{"EnterWorktree", "/w/r/.claude/worktrees/x", "/c/projects/-w-r--claude-worktrees-x/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "/w/r/.claude/worktrees/x", false},
		{"and a cd of the model in it", "/w/r/.claude/worktrees/x/sub/a", "/c/projects/-w-r--claude-worktrees-x/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "/w/r/.claude/worktrees/x", false},
		{"a cd of the model", "/w/r/sub", "/c/projects/-w-r/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "", false},
		{"a cd of the model to another directory", "/tmp", "/c/projects/-w-r/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "", false},
		{"/cd below", "/w/r/sub", "/c/projects/-w-r-sub/S.jsonl", "/c/projects/-w-r/S.jsonl", claude.Runtime, "/w/r/sub", false},
		{"not only ASCII", "/w/ä😀", "/c/projects/-w----/S.jsonl", "/c/projects/-w-/S.jsonl", claude.Runtime, "/w/ä😀", false},
		{"a long name", long + "/sub", "/c/projects/-w-" + strings.Repeat("a", 197) + "-1x2y/S.jsonl", "/c/projects/-w/S.jsonl", claude.Runtime, long + "/sub", false},
		{"the root", "/", "/c/projects/-/S.jsonl", "/c/projects/-w/S.jsonl", claude.Runtime, "/", false},
		{"an unknown name of the folder", "/w/r", "/c/projects/new-scheme/S.jsonl", "/c/projects/old-scheme/S.jsonl", claude.Runtime, "/w/r", false},
		{"not absolute", "w", "/c/projects/-w/S.jsonl", "", claude.Runtime, "", false},
		{"none", "", "/c/projects/-w/S.jsonl", "", claude.Runtime, "", false},
		{"another CLI", "/w/sub/", "/c/sessions/2026/S.jsonl", "/c/sessions/2026/S.jsonl", codex.Runtime, "/w/sub", false},
	} {
		equal(t, c.name, c.rt.SessionDir(c.cwd, c.transcript, c.was, c.begins), c.want)
	}
}

// TestTranscriptMoved: only a path that the runtime itself could have chosen is believed.
func TestTranscriptMoved(t *testing.T) {
	for _, c := range []struct {
		rt        *runtimes.Runtime
		was, path string
		want      bool
	}{
		{claude.Runtime, "/c/projects/-w/S.jsonl", "/c/projects/-w-x/S.jsonl", true},
		{claude.Runtime, "/c/projects/-w/S.jsonl", "/c/projects/-w/S.jsonl", false},
		{claude.Runtime, "/c/projects/-w/S.jsonl", "/other/projects/-w/S.jsonl", false},
		{claude.Runtime, "/c/projects/-w/S.jsonl", "/c/projects/-w/T.jsonl", false},
		{claude.Runtime, "/c/projects/-w/S.jsonl", "/etc/passwd", false},
		{claude.Runtime, "/c/projects/-w/S.jsonl", "projects/-w/S.jsonl", false},
		{codex.Runtime, "/c/sessions/1/rollout-S.jsonl", "/c/sessions/2/rollout-S.jsonl", true},
		{codex.Runtime, "/c/sessions/1/rollout-S.jsonl", "/c/sessions/1/rollout-2-S.jsonl", true},
		{codex.Runtime, "/c/sessions/1/rollout-S.jsonl", "/etc/hosts.jsonl", false},
		{codex.Runtime, "/c/sessions/1/rollout-S.jsonl", "/c/sessions/1/rollout-S.sock", false},
	} {
		equal(t, c.rt.Name+": "+c.was+" -> "+c.path, c.rt.TranscriptMoved(c.was, c.path, "S"), c.want)
	}
}
