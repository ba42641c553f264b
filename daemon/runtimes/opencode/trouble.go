package opencode

import (
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// code returns Claude Code's word for an error.
func (e *Error) code() string {
	text := strings.ToLower(e.Data.Message)
	switch {
	case e.Name == "ProviderAuthError", e.Data.StatusCode == 401, e.Data.StatusCode == 403:
		return runtimes.Unauthenticated
	case e.Name == "MessageOutputLengthError":
		return runtimes.OutputLimit
	case e.Name == "ContextOverflowError":
		return runtimes.ContextFull
	case saysLimited(e.Data.Message):
		return runtimes.UsageLimit
	case strings.Contains(text, "model not found"), strings.Contains(e.Name, "ModelNotFound"):
		return runtimes.UnknownModel
	}
	return runtimes.OfStatus(e.Data.StatusCode)
}

// refusal returns the code of trouble for a request that OpenCode sends again. It tells the text alone.
func refusal(text string) string {
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "overloaded"):
		return runtimes.Overloaded
	case strings.Contains(lower, "rate limit"), strings.Contains(lower, "rate_limit"), strings.Contains(lower, "too many requests"):
		return runtimes.RateLimit
	}
	return runtimes.ServerError
}

// refusal returns why a plugin of the user's has refused a prompt: its hook chat.message threw an error, before the message was made. The
// error's stack tells where that was.
func (e *Error) refusal() (why string, ok bool) {
	if e == nil || !strings.Contains(e.Data.Message, "SessionPrompt.createUserMessage") {
		return "", false
	}
	why, _, _ = strings.Cut(strings.TrimPrefix(e.Data.Message, "Error: "), "\n")
	return why, true
}
