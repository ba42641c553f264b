package pipelines

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
)

// TestPipelineMoveOutsideTheTableIsRefused: a move that is not in the table is an error, and nothing is written.
func TestPipelineMoveOutsideTheTableIsRefused(t *testing.T) {
	t.Parallel()
	room := Join(intake.New(engine.Config{Host: "h"}))
	p := &daemon.Pipeline{ID: 3, Status: daemon.PipelineDone, Steps: []daemon.Step{{ID: 4, Status: daemon.StepDone}}}
	run := room.runOf(t.Context(), p)
	p.Status = daemon.PipelineRunning
	if err := run.commit(&daemon.Change{}); err == nil || !strings.Contains(err.Error(), "knows no move from done") {
		t.Errorf("a pipeline: got %v", err)
	}
	p.Status, p.Steps[0].Status = daemon.PipelineDone, daemon.StepRunning
	if err := run.commit(&daemon.Change{}); err == nil || !strings.Contains(err.Error(), "step 4: the table knows no move") {
		t.Errorf("a step: got %v", err)
	}
}
