package runtimes

import (
	"regexp"
	"strings"
	"sync"
)

// noConversation matches the sentences with which a CLI exits that does not find the session that it is to open again. Measured:
// Claude Code 2.1.330 "No conversation found with session ID: …"; Codex 0.169.0 "No saved session found with ID …"; Gemini CLI 0.61.0
// "No previous sessions found for this project." or "Invalid session identifier"; OpenCode 1.18.33 "Session not found: …";
// oh-my-pi 18.2.3 "Session … not found."
var noConversation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bno (saved |previous )?(conversation|session|rollout|thread)s? found\b|\b(session|conversation|thread)\b.{0,80}\bnot found\b|\binvalid session (id|identifier)\b`)
})

// SaysNoConversation returns the line of what a CLI showed before it exited that says that it has not found the session that it was to
// open again; "": none of the last lines does.
func SaysNoConversation(shown string) string {
	const last = 12 // some CLIs print an advice after it
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	for _, line := range lines[max(0, len(lines)-last):] {
		if noConversation().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
