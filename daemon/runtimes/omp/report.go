package omp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/limittext"
	"github.com/understudyd/understudy/hooks"
)

// extensionEvent is what our extension tells of an event; see omp/extension.ts.
type extensionEvent struct {
	SessionID      string          `json:"session_id"`
	SessionFile    string          `json:"session_file"`
	CWD            string          `json:"cwd"`
	TurnID         string          `json:"turn_id"`
	Event          int64           `json:"event"` // its number in the process
	At             int64           `json:"at"`    // Unix milliseconds
	Usage          usage           `json:"usage"`
	Reason         string          `json:"reason"` // of SessionStart, SessionEnd and Compacting
	Prompt         string          `json:"prompt"`
	Background     bool            `json:"background"` // no person and no delivery gave the prompt
	Message        string          `json:"message"`    // of TurnEnded: the last answer
	StopReason     string          `json:"stop_reason"`
	StopHookActive bool            `json:"stop_hook_active"`
	Since          int64           `json:"since"` // of RetryStarted: Unix milliseconds
	Jobs           int             `json:"jobs"`  // that run in the background
	Error          string          `json:"error"`
	ErrorStatus    int             `json:"error_status"` // of HTTP; 0: none
	ToolName       string          `json:"tool_name"`
	ToolInput      json.RawMessage `json:"tool_input"`
}

type usage struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
}

// report puts what our extension tells into the words of the daemon.
func report(event string, body []byte) (runtimes.Report, error) {
	var e extensionEvent
	if err := json.Unmarshal(body, &e); err != nil {
		return runtimes.Report{}, fmt.Errorf("event %s of oh-my-pi: %w", event, err)
	}
	out := map[string]any{
		"session_id": e.SessionID, "transcript_path": e.SessionFile, "cwd": e.CWD, "prompt_id": e.TurnID, "event": e.Event,
	}
	name := event
	switch event {
	case hooks.SessionStart:
		out["source"] = e.Reason
		delete(out, "prompt_id")
	case "PromptTaken":
		name, out["prompt"] = hooks.UserPromptSubmit, e.Prompt
		if e.Background { // the CLI goes on by itself, such as after the end of a background job
			out["prompt"] = "<task-notification>\n" + e.Prompt
		}
	case "TurnEnded":
		name = e.turnEnd(out)
	case hooks.RetryStarted:
		out["error"], _ = e.trouble()
		out["last_assistant_message"], out["since"] = e.Error, e.Since
	case hooks.RetryEnded:
	case "DialogOpened":
		name, out["tool_name"], out["tool_input"] = hooks.PermissionRequest, e.ToolName, input(e.ToolInput)
	case "DialogClosed":
		name = hooks.DialogClosed
	case "Compacting":
		name, out["trigger"] = hooks.PreCompact, e.Reason
	case hooks.SessionEnd:
		out["reason"] = e.Reason
	default:
		return runtimes.Report{}, nil
	}
	if e.Usage.Window > 0 && e.Usage.Tokens > 0 && event != hooks.SessionStart && event != hooks.SessionEnd {
		out["understudy_context"] = map[string]int64{"tokens": e.Usage.Tokens, "limit": e.Usage.Window}
	}
	b, err := json.Marshal(out)
	return runtimes.Report{Event: name, Body: b}, err
}

// maxJobs bounds a number that comes from outside.
const maxJobs = 100

// turnEnd adds to out how a turn ended, and returns the event.
func (e *extensionEvent) turnEnd(out map[string]any) string {
	switch e.StopReason {
	case "aborted":
		return hooks.Interrupt
	case "error":
		kind, resets := e.trouble()
		out["error"], out["last_assistant_message"] = kind, e.Error
		if !resets.IsZero() {
			out["resets_at"] = resets.Unix()
		}
		return hooks.StopFailure
	case "length":
		out["error"], out["last_assistant_message"] = runtimes.OutputLimit, "the answer reached the limit of the output"
		return hooks.StopFailure
	}
	out["last_assistant_message"], out["stop_hook_active"] = e.Message, e.StopHookActive
	out["background_tasks"] = make([]struct{}, max(0, min(e.Jobs, maxJobs)))
	return hooks.Stop
}

var retryAfter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`retry-after-ms=(\d{1,12})\b`) })

// troubles are texts in errors of providers, by the code of the trouble. The first match wins.
var troubles = []struct{ text, code string }{
	{"insufficient_quota", runtimes.Billing}, {"billing", runtimes.Billing}, {"credit balance", runtimes.Billing}, {"insufficient balance", runtimes.Billing},
	{"rate limit", runtimes.RateLimit}, {"rate_limit", runtimes.RateLimit}, {"overloaded", "overloaded"},
	{"no api key", runtimes.Unauthenticated}, {"invalid api key", runtimes.Unauthenticated}, {"unauthorized", runtimes.Unauthenticated},
	{"model not found", runtimes.UnknownModel}, {"model_not_found", runtimes.UnknownModel},
}

// billed are parts of texts about a limit that ends only when somebody pays.
var billed = []string{"insufficient_quota", "billing details", "credit balance", "insufficient balance"}

// longWait is how long a provider asks to wait at least if it is a usage limit that it reports. oh-my-pi itself waits for
// what is shorter than five minutes.
const longWait = 5 * time.Minute

// trouble returns the code of the error that ended a turn, and when the limit ends that it reports; zero: it does not say
// that.
func (e *extensionEvent) trouble() (code string, resets time.Time) {
	text, status := strings.ToLower(e.Error), e.ErrorStatus
	if first, _, _ := strings.Cut(text, " "); status == 0 {
		status, _ = strconv.Atoi(first) // a text without a number is no status
	}
	if m := retryAfter().FindStringSubmatch(text); m != nil {
		ms, _ := strconv.ParseInt(m[1], 10, 64)
		if wait := time.Duration(ms) * time.Millisecond; wait >= longWait && e.At > 0 {
			return runtimes.UsageLimit, time.UnixMilli(e.At).Add(wait)
		}
	}
	if limittext.IsUsageLimit(text) && !limittext.HasAny(text, billed) {
		return runtimes.UsageLimit, time.Time{}
	}
	for _, t := range troubles {
		if strings.Contains(text, t.text) {
			return t.code, time.Time{}
		}
	}
	return runtimes.OfStatus(status), time.Time{}
}

// input returns the input of a tool with the names that the daemon reads. oh-my-pi's tools call the path of a file
// "path".
func input(raw json.RawMessage) map[string]any {
	var in map[string]any
	_ = json.Unmarshal(raw, &in) // an input that is not known gives no details
	if path, ok := in["path"].(string); ok && in["file_path"] == nil {
		in["file_path"] = path
	}
	return in
}
