package main

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestPipeline: two steps, the second fed by the first, each agent gone afterwards.
func TestPipeline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.template("two", "developer", "reviewer | prompt: Look closely.")
	r.start()
	p := r.pipeline("two", "Mend the roof.")
	if p.Status != daemon.PipelineRunning || len(p.Steps) != 2 {
		t.Errorf("a new run is %s with %d steps", p.Status, len(p.Steps))
	}
	p = r.awaitPipeline(p.ID, daemon.PipelineDone)
	r.wantSteps(p, "done done")
	first, second := p.Steps[0].AgentIDs[0], p.Steps[1].AgentIDs[0]
	r.wantTold(first, "Mend the roof.")
	if out := p.Steps[0].LatestHandoff; out == nil || out.ContentMD == "" {
		t.Fatal("step 1 left nothing")
	}
	if got := r.told(second); len(got) == 0 || !strings.HasPrefix(got[0], p.Steps[0].LatestHandoff.ContentMD) {
		t.Errorf("step 2 was told %q", got)
	}
	for _, id := range []int64{first, second} {
		r.awaitState(id, daemon.Ended)
	}
}
