//go:build e2e

package stories

import (
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/cmd/internal/demo"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// TestDemoPipelineCanBeLookedAt: While the demo is kept, the commands that it names show what the pipeline has left.
func TestDemoPipelineCanBeLookedAt(t *testing.T) {
	t.Parallel()
	r := startDemo(t, "--pipeline", "--keep")
	dir := r.awaitPrinted(t, `Still running, until Ctrl-C\. From another shell:\n  \S+/understudy pipeline show 1 --data (\S+)\n`)[1]

	c := api.NewClient(data.At(dir).Socket())
	defer c.Close()
	p := value(c.Pipeline(t.Context(), 1))(t)
	if p.Status != daemon.PipelineDone || p.Prompt != demo.PipelineRequest || p.Steps[1].Comment != demo.PipelineComment || len(p.Warnings) > 0 {
		t.Errorf("pipeline %+v", p)
	}
	for i, s := range p.Steps {
		if m := s.LatestHandoff.Metadata; m == nil || m.WhatWasDone == nil {
			t.Errorf("step %d left no fields: %q", i+1, s.LatestHandoff.ContentMD)
		}
	}
	r.endByInterrupt(t, commands.ExitDone, "", dir, serversOf(t, dir))
}
