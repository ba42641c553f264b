package claude

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
)

// refusal is a line of the transcript by which Claude Code says that a hook has refused a prompt. Older versions than 2.1.3xx
// have the content alone.
type refusal struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"`
	Timestamp time.Time `json:"timestamp"`
	UUID      string    `json:"uuid"`
	Sidechain bool      `json:"isSidechain"`
	Content   string    `json:"content"`
	Submit    struct {
		Ending struct {
			Kind   string `json:"kind"` // blocked_by_hook, or stopped_by_hook: the hook said continue: false
			Reason string `json:"reason"`
		} `json:"ending"`
	} `json:"promptSubmitEnding"`
}

const (
	blocked  = "UserPromptSubmit operation blocked by hook:\n"
	original = "\n\nOriginal prompt: " // a hook may suppress it
)

// tail reads the line that says that a hook has refused a prompt. No hook reports that.
func tail(session string, line []byte) (runtimes.Report, bool) {
	if !bytes.Contains(line, []byte(`"system"`)) || !bytes.Contains(line, []byte("hook")) {
		return runtimes.Report{}, false
	}
	var l refusal
	if json.Unmarshal(line, &l) != nil || l.Type != "system" || l.Sidechain {
		return runtimes.Report{}, false
	}
	rest, blocked := strings.CutPrefix(l.Content, blocked)
	if l.Submit.Ending.Kind != "blocked_by_hook" && l.Submit.Ending.Kind != "stopped_by_hook" && !(blocked && l.Subtype == "informational") {
		return runtimes.Report{}, false
	}
	reason, prompt, _ := strings.Cut(rest, original)
	if !blocked {
		reason, prompt = "", ""
	}
	if l.Submit.Ending.Reason != "" {
		reason = l.Submit.Ending.Reason
	}
	return runtimes.Report{
		Event: hooks.PromptRefused, At: l.Timestamp, Key: "refused " + l.UUID,
		Body: runtimes.Marshal(map[string]any{"session_id": session, "prompt": prompt, "reason": reason}),
	}, true
}

var pastedMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[Pasted text #\d+( \+\d+ lines)?\]$`)
})

// IsPastedMark reports whether a draft is nothing but the words in place of which Claude Code keeps a long pasted text.
func IsPastedMark(draft string) bool { return pastedMark().MatchString(strings.TrimSpace(draft)) }
