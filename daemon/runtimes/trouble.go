package runtimes

import (
	"encoding/json"
	"slices"
	"strings"
)

// The codes of trouble that something is made of beyond showing them.
const (
	RateLimit       = "rate_limit"
	UsageLimit      = "usage_limit" // ours: the runtime says rate_limit
	Unauthenticated = "authentication_failed"
	Billing         = "billing_error"
	UnknownModel    = "model_not_found"
	InvalidRequest  = "invalid_request"
	OutputLimit     = "max_output_tokens"
	OtherTrouble    = "runtime_error" // ours: the runtime says unknown, or something that we don't know
)

// TroubleCodes are all codes of trouble. But for those that are ours they are the values that the field
// error of Claude Code's StopFailure has (seen with 2.1.329).
func TroubleCodes() []string {
	return []string{RateLimit, UsageLimit, Unauthenticated, Billing, UnknownModel, InvalidRequest, OutputLimit,
		"overloaded", "server_error", OtherTrouble}
}

// ReadTrouble makes a code, and a text for people, of what a runtime reports instead of the end of a turn:
// its own word for it, the text that it shows in the place of an answer, and further details.
func ReadTrouble(kind, shown, details string) (code, text string) {
	text = strings.TrimSpace(shown)
	if text == "" {
		text = strings.TrimSpace(details)
	}
	text = withoutBody(text)
	switch {
	case kind == RateLimit && isUsageLimit(text):
		return UsageLimit, text
	case slices.Contains(TroubleCodes(), kind):
		return kind, text
	case text == "" && kind != "unknown":
		text = kind
	}
	return OtherTrouble, text
}

// isUsageLimit tells the limit of a subscription, such as "You've hit your 5-hour limit · resets 7:08am
// (UTC)", from an API that refuses more requests for the moment, such as "API Error: Request rejected
// (429)". The hook has the same word for both.
func isUsageLimit(text string) bool {
	text = strings.ToLower(text)
	return !strings.HasPrefix(text, "api error") && strings.Contains(text, "limit") &&
		(strings.Contains(text, "usage limit") || strings.Contains(text, "hit your") || strings.Contains(text, "reset"))
}

// withoutBody puts the message of an error's JSON body, which some texts quote, in the body's place.
func withoutBody(text string) string {
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
