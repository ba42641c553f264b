package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// TestPipelineInASharedDirectoryIsWarned: The operator is told as well. So is one that is resumed where others have begun.
func TestPipelineInASharedDirectoryIsWarned(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := holdingStep(r, "developer")
		writeTemplate(r, "held", held)
		r.start()
		first := startPipeline(r, "held", roof)
		if len(first.Warnings) != 0 {
			t.Errorf("the first pipeline is warned: %q", first.Warnings)
		}
		link := filepath.Join(filepath.Dir(r.root), "link")
		if err := os.Symlink(r.work, link); err != nil {
			t.Fatal(err)
		}
		open := []int64{first.ID}
		for _, dir := range []string{r.work, r.work + "/.", link} {
			p := createPipeline(r, pipelines.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: dir})
			if len(p.Warnings) != 1 {
				t.Fatalf("in %s the pipeline is warned %q, want one sentence", dir, p.Warnings)
			}
			for _, id := range open {
				if !strings.Contains(p.Warnings[0], fmt.Sprint(id)) {
					t.Errorf("%q does not name the pipeline %d", p.Warnings[0], id)
				}
			}
			if got := awaitPipelineTold(r, p.ID, "pipeline_warning", 1); !strings.Contains(got, p.Warnings[0]) {
				t.Errorf("the operator was told %q, want %q", got, p.Warnings[0])
			}
			open = append(open, p.ID)
		}
		elsewhere := filepath.Join(r.work, "elsewhere")
		if err := os.Mkdir(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		if p := createPipeline(r, pipelines.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: elsewhere}); len(p.Warnings) != 0 {
			t.Errorf("elsewhere the pipeline is warned: %q", p.Warnings)
		} else {
			open = append(open, p.ID)
		}
		abortPipeline(r, first.ID, "failed")
		resumePipeline(r, first.ID, false)
		awaitPipelineThat(r, first.ID, "a warning", func(p daemon.Pipeline) bool { return len(p.Warnings) == 1 && strings.Contains(p.Warnings[0], r.work) })
		release()
		for _, id := range open {
			awaitPipeline(r, id, daemon.PipelineDone)
		}
		if p := startPipeline(r, "held", roof); len(p.Warnings) != 0 {
			t.Errorf("when all have ended the pipeline is warned: %q", p.Warnings)
		}
	})
}
