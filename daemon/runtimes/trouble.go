package runtimes

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon/runtimes/limittext"
)

// The codes of trouble for which the daemon does something. It only shows the other codes.
const (
	RateLimit       = "rate_limit"
	UsageLimit      = "usage_limit" // our own code: the runtime says rate_limit
	Unauthenticated = "authentication_failed"
	Billing         = "billing_error"
	UnknownModel    = "model_not_found"
	InvalidRequest  = "invalid_request"
	OutputLimit     = "max_output_tokens"
	Overloaded      = "overloaded"
	ServerError     = "server_error"
	ContextFull     = "context_window_exceeded" // our own code: the window is full, and the runtime could not compact
	OtherTrouble    = "runtime_error"           // our own code: the runtime says unknown, or a word that we do not know
)

// TroubleCodes returns all codes of trouble. Except for our own three they are the values of the field error
// of Claude Code's StopFailure (seen with 2.1.329).
func TroubleCodes() []string {
	return []string{RateLimit, UsageLimit, Unauthenticated, Billing, UnknownModel, InvalidRequest, OutputLimit,
		Overloaded, ServerError, ContextFull, OtherTrouble}
}

// ReadTrouble returns a code and a text for people for the trouble that a runtime reports instead of the end
// of a turn. kind is the runtime's own word for the trouble, shown the text that the runtime shows in place
// of an answer. If shown is blank, the text is details.
func ReadTrouble(kind, shown, details string) (code, text string) {
	text = strings.TrimSpace(shown)
	if text == "" {
		text = strings.TrimSpace(details)
	}
	text = WithoutBody(text)
	switch {
	case kind == RateLimit && limittext.IsUsageLimit(text), kind == Billing && limittext.EndsByItself(text), kind == InvalidRequest && limittext.IsSpendingLimit(text):
		return UsageLimit, text
	case kind == InvalidRequest && isFullWindow(text):
		return ContextFull, text
	case slices.Contains(TroubleCodes(), kind):
		return kind, text
	case text == "" && kind != "unknown":
		text = kind
	}
	return OtherTrouble, text
}

// isFullWindow reports whether the text of an invalid_request says that the conversation does not fit into the context
// window. The CLIs compact before that, so the text means that they could not.
func isFullWindow(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(fullWindow, func(part string) bool { return strings.Contains(text, part) })
}

// fullWindow are texts by which providers refuse a request that does not fit: Anthropic's, then those of OpenAI's APIs.
var fullWindow = []string{
	"prompt is too long", "exceed context limit", "context_length_exceeded", "maximum context length", "exceeds the context window",
}

// APIFails reports whether a trouble's code says that the API does not answer for the moment. Such a turn may end well when
// it is tried again.
func APIFails(code string) bool {
	return code == RateLimit || code == Overloaded || code == ServerError
}

// WithoutBody replaces the JSON body of an error, which some texts quote, with the message in that body.
func WithoutBody(text string) string {
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return text
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	rest := json.NewDecoder(strings.NewReader(text[at:]))
	if rest.Decode(&body) != nil || body.Error.Message == "" {
		return text
	}
	return strings.TrimSpace(text[:at] + body.Error.Message + text[at+int(rest.InputOffset()):])
}

// OfStatus returns the code of trouble that a status of HTTP stands for; "unknown": it stands for none.
func OfStatus(status int) string {
	switch {
	case status == 401 || status == 403:
		return Unauthenticated
	case status == 402:
		return Billing
	case status == 404:
		return UnknownModel
	case status == 429:
		return RateLimit
	case status == 503 || status == 529:
		return Overloaded
	case status >= 400 && status < 500:
		return InvalidRequest
	case status >= 500 && status < 600:
		return ServerError
	}
	return "unknown"
}
