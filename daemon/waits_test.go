package daemon

import (
	"testing"

	"github.com/understudyd/understudy/hooks"
)

// TestWaitsForReadsAsItIsWritten: what an agent asks for must not look like something else.
func TestWaitsForReadsAsItIsWritten(t *testing.T) {
	t.Parallel()
	p := hooks.Payload{ToolName: "Bash", ToolInput: []byte(`{"command": "rm \u202e-rf\u2069 /\u061csrv\n\u001b[2J; ls 👩\u200d💻"}`)}
	if got, want := waitsFor(p), "permission for Bash: rm -rf /srv [2J; ls 👩\u200d💻"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNamesReadAsTheyAreWritten: an agent's name has no character that turns the direction of writing.
func TestNamesReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{"parser \u202enoitcudorp": false, "a\u2066b": false, "a\u200eb": false, "שלום 👩\u200d💻": true} {
		if err := checkLine("name", name, maxName); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
