package runtimes

import (
	"regexp"
	"sync"
)

// noConversation are the sentences with which a CLI exits that does not find the session that it is to open again. Claude Code:
// "No conversation found with session ID: …"; Codex: "No saved session found with ID …"; Gemini: "Invalid session identifier";
// OpenCode and oh-my-pi: "Session … not found".
var noConversation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bno (saved |previous )?(conversation|session|rollout|thread)s? (was |were )?found\b|\b(session|conversation|thread)\b.{0,80}\bnot found\b|\binvalid session (id|identifier)\b`)
})

// SaysNoConversation reports whether the text that a CLI printed before it exited says that it has not found the session that it
// was to open again.
func SaysNoConversation(text string) bool { return noConversation().MatchString(text) }
