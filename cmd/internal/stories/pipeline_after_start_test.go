package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestInterruptedPipelineGoesOnOnce: the agent of a step ended with its tmux server. Whoever has opted in finds that the step began
// again after the start, once over all starts; without that the pipeline waits for a person.
func TestInterruptedPipelineGoesOnOnce(t *testing.T) {
	t.Parallel()
	for _, optedIn := range []bool{true, false} {
		t.Run(fmt.Sprint(optedIn), func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Resume, r.cfg.Settings.Pipeline.Resume = true, optedIn
				p, first, _ := startHeldPipeline(r, "")
				crash := func() daemon.Pipeline {
					r.halt()
					killTmux(r)
					pass(time.Second)
					r.start()
					pass(20 * time.Second)
					return getPipeline(r, p.ID)
				}
				now := crash()
				if !optedIn {
					if now.Status != daemon.PipelineFailed || len(now.Steps[0].AgentIDs) != 1 {
						t.Errorf("nobody has opted in, but it is %s with agents %v", now.Status, now.Steps[0].AgentIDs)
					}
					return
				}
				if now.Status != daemon.PipelineRunning || len(now.Steps[0].AgentIDs) != 2 {
					t.Fatalf("after the start it is %s with agents %v, after %d", now.Status, now.Steps[0].AgentIDs, first.ID)
				}
				awaitPipelineAlert(r, p.ID, "pipeline_warning")
				if now = crash(); now.Status != daemon.PipelineFailed || len(now.Steps[0].AgentIDs) != 2 {
					t.Errorf("after the second crash it is %s with agents %v", now.Status, now.Steps[0].AgentIDs)
				}
			})
		})
	}
}
