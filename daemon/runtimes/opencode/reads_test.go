package opencode

import (
	"testing"
)

const (
	readDocument = "/data/handoffs/20261120T141500-00000007.md"
	readContext  = "/data/handoffs/20261120T141500-00000007.context.md"
	readNonce    = "handoff_a_b_1_00c0ffee"
)

// The mirror of OpenCode's messages has what proves a reading.
func TestMirrorShowsReading(t *testing.T) {
	t.Parallel()
	var m Message
	m.Info.Role, m.Info.Finish = "assistant", "stop"
	m.Parts = []Part{{Type: "tool", Tool: "read", CallID: "c1"}, {Type: "tool", Tool: "bash", CallID: "c2"}}
	m.Parts[0].State.Input.FilePath, m.Parts[1].State.Input.Command = readDocument, "cat "+readContext
	for status, want := range map[string]int{"completed": 0, "error": 2} {
		m.Parts[0].State.Status, m.Parts[1].State.Status = status, status
		r := Runtime.Reading(readNonce, []string{readDocument, readContext})
		r.Add([]byte(`{"type":"user","message":{"role":"user","content":"` + readNonce + `"}}` + "\n"))
		if r.Add(m.Lines("s", true, false)); len(r.Left()) != want {
			t.Errorf("%s: left %q", status, r.Left())
		}
	}
}
