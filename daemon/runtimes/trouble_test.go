package runtimes

import "testing"

// TestReadTrouble uses the reports of Claude Code 2.1.329 and 2.1.330. Only the rows with a JSON body and the
// last two are made up.
func TestReadTrouble(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, shown, details, code, text string }{
		{"rate_limit", "You've hit your 5-hour limit · resets 7:08am (UTC)", "", UsageLimit, "You've hit your 5-hour limit · resets 7:08am (UTC)"},
		{"rate_limit", "Claude usage limit reached.", "", UsageLimit, "Claude usage limit reached."},
		{"rate_limit", "API Error: Request rejected (429) · this would exceed your limit, which resets soon", "", RateLimit,
			"API Error: Request rejected (429) · this would exceed your limit, which resets soon"},
		{"rate_limit", "", "429 would exceed your rate limit", RateLimit, "429 would exceed your rate limit"},
		{"authentication_failed", "Please run /login · API Error: 401 fake 401", "", Unauthenticated, "Please run /login · API Error: 401 fake 401"},
		{"server_error", "API Error: 500 fake 500.", "", "server_error", "API Error: 500 fake 500."},
		{"invalid_request", "Request too large (max 32MB).", `request_too_large: 413 {"error":{}}`, InvalidRequest, "Request too large (max 32MB)."},
		{"unknown", "API Error: 400 fake 400", "", OtherTrouble, "API Error: 400 fake 400"},
		{"overloaded", `API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"} (later)`, "",
			"overloaded", "API Error: 529 Overloaded (later)"},
		{"invalid_request", "400 Input is too long: maximum context length is 128000 tokens (context_length_exceeded)", "", ContextFull,
			"400 Input is too long: maximum context length is 128000 tokens (context_length_exceeded)"},
		{"overloaded", "API Error: {no JSON}", "", "overloaded", "API Error: {no JSON}"},
		{"dreaming", "", "", OtherTrouble, "dreaming"},
		{"", "", "", OtherTrouble, ""},
	} {
		code, text := ReadTrouble(row.kind, row.shown, row.details)
		if code != row.code || text != row.text {
			t.Errorf("%s %q %q: %s %q", row.kind, row.shown, row.details, code, text)
		}
	}
}
