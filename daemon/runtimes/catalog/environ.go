package catalog

import (
	"slices"
	"strings"
)

// strippedPrefixes and strippedNames are the variables that an agent must not inherit from the daemon:
// the daemon's own secrets, the variables of the tmux in which the daemon runs, and the variables that a
// running Claude Code sets for its children. With the variables of Claude Code, the agent would take itself
// for such a child.
var (
	strippedPrefixes = []string{"UNDERSTUDY_", "PG", "TMUX", "CLAUDE_CODE_CHILD_", "CLAUDE_CODE_MESSAGING_", "CLAUDE_CODE_SESSION_", "CODEX_SANDBOX"}
	strippedNames    = []string{
		"AGENT", "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SSE_PORT",
		"CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT",
		"CLAUDE_PROJECT_DIR", "CODEX_CI", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "COLUMNS", "LINES",
		"GEMINI_CLI", "GEMINI_CLI_HOME", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CWD", "GEMINI_PLANS_DIR", "GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID",
		"OPENCODE", "OPENCODE_PID", "OPENCODE_SERVER_PASSWORD", // of a running OpenCode
	}
)

// StripEnv returns environ, a list of NAME=value, without the variables that must not reach an
// agent. It keeps the variables that configure the CLI (CLAUDE_CONFIG_DIR, ANTHROPIC_…).
func StripEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(strippedNames, name) || slices.ContainsFunc(strippedPrefixes,
			func(p string) bool { return strings.HasPrefix(name, p) })
	})
}
