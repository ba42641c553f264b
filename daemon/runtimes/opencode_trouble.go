package runtimes

import "strings"

// code returns Claude Code's word for an error.
func (e *OpencodeError) code() string {
	text := strings.ToLower(e.Data.Message)
	switch status := e.Data.StatusCode; {
	case e.Name == "ProviderAuthError", status == 401, status == 403:
		return Unauthenticated
	case e.Name == "MessageOutputLengthError":
		return OutputLimit
	case e.Name == "ContextOverflowError":
		return ContextFull
	case opencodeLimited(e.Data.Message):
		return UsageLimit
	case status == 402:
		return Billing
	case status == 404, strings.Contains(text, "model not found"), strings.Contains(e.Name, "ModelNotFound"):
		return UnknownModel
	case status == 429:
		return RateLimit
	case status == 529, status == 503:
		return "overloaded"
	case status >= 500:
		return "server_error"
	case status >= 400:
		return InvalidRequest
	}
	return "unknown"
}

// opencodeRefusal returns the code of trouble for a request that OpenCode sends again. It tells the text alone.
func opencodeRefusal(text string) string {
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "overloaded"):
		return Overloaded
	case strings.Contains(lower, "rate limit"), strings.Contains(lower, "rate_limit"), strings.Contains(lower, "too many requests"):
		return RateLimit
	}
	return ServerError
}

// refusal returns why a plugin of the user's has refused a prompt: its hook chat.message threw an error, before the message was made. The
// error's stack tells where that was.
func (e *OpencodeError) refusal() (why string, ok bool) {
	if e == nil || !strings.Contains(e.Data.Message, "SessionPrompt.createUserMessage") {
		return "", false
	}
	why, _, _ = strings.Cut(strings.TrimPrefix(e.Data.Message, "Error: "), "\n")
	return why, true
}
