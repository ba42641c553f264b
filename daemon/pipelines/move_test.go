package pipelines

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestPipelineMoveOutsideTheTableIsRefused: a move that is not in the table is an error, and nothing is written.
func TestPipelineMoveOutsideTheTableIsRefused(t *testing.T) {
	t.Parallel()
	room := Join(intake.New(engine.Config{Host: "h"}))
	p := &daemon.Pipeline{ID: 3, Status: daemon.PipelineDone, Steps: []daemon.Step{{ID: 4, Status: daemon.StepDone}}}
	run := room.runOf(t.Context(), p)
	p.Status = daemon.PipelineRunning
	wardentest.WantErr(t, "a pipeline", run.commit(&daemon.Change{}), "knows no move from done")
	p.Status, p.Steps[0].Status = daemon.PipelineDone, daemon.StepRunning
	wardentest.WantErr(t, "a step", run.commit(&daemon.Change{}), "step 4: the table knows no move")
}
