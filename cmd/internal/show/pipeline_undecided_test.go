package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// TestUndecidedPipelineShowsWhatWasWritten: it says why a person must choose, what the step has written, and with which commands.
func TestUndecidedPipelineShowsWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := cmdtest.Pipeline()
	s := &p.Steps[0]
	s.Number, s.Next, s.Undecided = 1, []personas.Rule{{When: personas.Condition{Heading: "Verdict", Contains: "not ready"}, Goto: 1}}, daemon.UndecidedUnclear
	s.LatestHandoff = &daemon.StepHandoff{ContentMD: "## Verdict\n\nready | not \x1b[2Jready\n"}
	var out bytes.Buffer
	DescribePipeline(&term.UI{Out: &out}, &p)
	for _, want := range []string{"your choice: it is not clear what step 1 (designer) means under Verdict", "ready | not", "pipeline approve 7", "--goto 1", "pipeline reject 7"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b[2J") {
		t.Error("what the step wrote commands the terminal")
	}
}
