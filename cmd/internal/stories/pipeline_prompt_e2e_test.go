//go:build e2e

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

// TestLongPipelinePromptStandsInAFile: The agent may read that file. It holds the prompt byte for byte.
func TestLongPipelinePromptStandsInAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	writeTemplate(r, "one", "developer")
	r.start()
	r.misbehave("no-stop")
	prompt := strings.Repeat("Mend the roof\r\nand \"paint\" it: ünïcödé.\n", 3500) + " "
	if len(prompt) <= 120_000 {
		t.Fatalf("%d bytes", len(prompt))
	}
	p := startPipeline(r, "one", prompt)
	a := awaitPipelineThat(r, p.ID, "the end of a turn that nobody tells of", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "Esc") })
	agent := a.Steps[0].AgentIDs[0]
	got := r.told(agent)
	path := r.dir.Launch(agent) + "/task.md"
	if len(got) != 1 || len(got[0]) > 1000 || !strings.Contains(got[0], path) {
		t.Fatalf("agent was told %.2000q, want it to name %s", got, path)
	}
	equal(t, "the prompt in the file", r.readFile(path), prompt)
	argv := launchFile(r, agent).Argv
	settings := r.readFile(argv[slices.Index(argv, "--settings")+1])
	holds(t, "settings", settings, fmt.Sprintf("%q", "Read(/"+path+")"))
	r.misbehave("")
	r.personTypes(agent, "read it", tmux.Enter)
	awaitPipeline(r, p.ID, daemon.PipelineDone)
}
