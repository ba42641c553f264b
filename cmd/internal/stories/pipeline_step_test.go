package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestStepPastItsTimeFails: A turn, a dialog or a start that lasts too long fails the step and the pipeline. The
// agent is interrupted and ended.
func TestStepPastItsTimeFails(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Pipeline.StepTimeout = 5 * time.Second
		writeTemplate(r, "turn", "developer | timeout: 4.5 | prompt: Work. @hold nowhere", "reviewer")
		writeTemplate(r, "setting", "developer | prompt: Work. @hold nowhere", "reviewer", "tester")
		writeTemplate(r, "dialog", "developer | timeout: 4500ms | prompt: Work. @ask", "reviewer")
		r.start()
		wants := map[int64]string{}
		dialog := startPipeline(r, "dialog", "Mend the roof.").ID
		wants[dialog] = "4.5s"
		wants[startPipeline(r, "turn", "Mend the roof.").ID] = "4.5s"
		wants[startPipeline(r, "setting", "Mend the roof.").ID] = "5s"
		awaitPipelineThat(r, dialog, "note on a dialog", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "a dialog waits") })
		if text := awaitPipelineAlert(r, dialog, "pipeline_waiting"); !strings.Contains(text, "understudy agent attach") {
			t.Errorf("operator was told %q of the dialog", text)
		}
		for id, limit := range wants {
			p := awaitPipelineFailure(r, id, 1, "Step timed out after "+limit)
			a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
			if said(a.EndReason) != "prompt_input_exit" {
				t.Errorf("agent %d ended by %q", a.ID, said(a.EndReason))
			}
			wantStopStages(r, a.ID, daemon.StopBreak, daemon.StopAsked)
			var all []string
			for _, e := range r.transcript(a.ID) {
				all = append(all, fmt.Sprint(e.Message.Content))
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, "Request interrupted by user") || strings.Contains(text, " ok") {
				t.Errorf("agent %d was not interrupted:\n%s", a.ID, text)
			}
			if p := getPipeline(r, id); p.Note != "" {
				t.Errorf("failed pipeline has the note %q", p.Note)
			}
		}
	})
}
