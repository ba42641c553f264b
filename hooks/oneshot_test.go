package hooks

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestCommandOneShot: Command denies a one-shot its tools, without a daemon. It prints nothing for its
// other hooks, and for hooks that the user installed.
func TestCommandOneShot(t *testing.T) {
	t.Parallel()
	away := shortDir(t)
	env := vars{"UNDERSTUDY_ONESHOT": "1", "UNDERSTUDY_LAUNCH": "secret", "UNDERSTUDY_DATA": away}
	const deny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
		`"permissionDecisionReason":"This is a handoff being written: answer with the document, use no tools."}}`
	if !json.Valid([]byte(deny)) {
		t.Error("the answer is no JSON")
	}
	large := strings.NewReader(strings.Repeat("a", 2*MaxBody)) // a file to write may be of any size
	for _, c := range []struct {
		args  []string
		stdin io.Reader
		want  string
	}{
		{[]string{"PreToolUse"}, large, deny},
		{[]string{"pre-tool-use"}, strings.NewReader(""), deny},
		{[]string{"--installed", "PreToolUse"}, unread{t}, ""},
		{[]string{"SessionStart"}, unread{t}, ""},
		{[]string{"PostToolUse"}, unread{t}, ""},
		{[]string{"Stop"}, unread{t}, ""},
	} {
		var out, complaint bytes.Buffer
		code := Command(c.args, env.get, c.stdin, &out, &complaint)
		if code != 0 || out.String() != c.want || complaint.Len() > 0 {
			t.Errorf("%v: %d, %q, %q", c.args, code, &out, &complaint)
		}
	}
	if large.Len() > 0 {
		t.Errorf("%d bytes of stdin were left: the CLI meets a closed pipe", large.Len())
	}
	equal(t, "spooled", len(drained(t, away)), 0)
}
