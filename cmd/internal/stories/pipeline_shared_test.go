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

func TestPipelinesSharingFromTheSameMomentAreWarned(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		creating := r.gateCommits(func(c *daemon.Change) bool { return c.NewPipeline != nil })[0]
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		in := pipelines.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: r.work}
		var first daemon.Pipeline
		done := async(func() (err error) { first, err = r.client.CreatePipeline(t.Context(), in); return err })
		creating.await(t)
		second := r.createPipeline(in)
		creating.goOn()
		if err := r.awaitResult(done); err != nil {
			t.Fatal(err)
		}
		r.awaitWorkingAgent(first.ID, 1)
		r.awaitWorkingAgent(second.ID, 1)
		r.wantSharedTold(first.ID, second.ID)
		release()
		r.awaitPipeline(first.ID, daemon.PipelineDone)
		r.awaitPipeline(second.ID, daemon.PipelineDone)
	})
}

// wantSharedTold fails unless at least one of two pipelines has a warning about the other. A warning may come once
// for each pipeline, and the operator must be told of it.
func (r *rig) wantSharedTold(one, two int64) {
	r.t.Helper()
	warned := 0
	for id, other := range map[int64]int64{one: two, two: one} {
		want := fmt.Sprintf("Pipeline %d works in %s as well", other, r.work)
		switch p := r.getPipeline(id); {
		case len(p.Warnings) == 0:
		case len(p.Warnings) > 1 || !strings.HasPrefix(p.Warnings[0], want):
			r.t.Errorf("pipeline %d is warned %q, want %q once", id, p.Warnings, want)
		default:
			warned++
			if text := r.awaitPipelineAlert(id, "pipeline_warning"); !strings.Contains(text, want) {
				r.t.Errorf("operator was told %q, want %q", text, want)
			}
		}
	}
	if warned == 0 {
		r.t.Errorf("neither of the pipelines %d and %d in %s is warned", one, two, r.work)
	}
}

// TestResumedPipelineInASharedDirectoryIsWarned: Another pipeline began in the directory before the resume.
func TestResumedPipelineInASharedDirectoryIsWarned(t *testing.T) {
	t.Parallel()
	for how, fail := range map[string]func(r *rig) (id int64){
		"anew": func(r *rig) int64 {
			p, _, _ := r.startHeldPipeline("")
			return r.abortPipeline(p.ID, "failed pending").ID
		},
		"with its handoff":     func(r *rig) int64 { p, _, _ := r.startFailedAfterRecord(); return p.ID },
		"with the agent at it": func(r *rig) int64 { p, _, _ := r.startHeldPipeline(""); r.failByHand(p.ID); return p.ID },
	} {
		t.Run(how, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				held, release := r.holdingStep("developer")
				r.writeTemplate("other", held)
				first := fail(r)
				second := r.startPipeline("other", roof).ID
				r.awaitWorkingAgent(second, 1)
				r.resumePipeline(first, false)
				r.awaitPipelineThat(first, "step 1 goes on", func(p daemon.Pipeline) bool { return p.Steps[0].Status != daemon.StepPending })
				if p := r.getPipeline(second); len(p.Warnings) != 0 {
					t.Errorf("the pipeline that began alone is warned %q", p.Warnings)
				}
				r.wantSharedTold(first, second)
				release()
				r.awaitPipeline(second, daemon.PipelineDone)
			})
		})
	}
}

// TestPipelineInASharedDirectoryIsWarned: The operator is told as well.
func TestPipelineInASharedDirectoryIsWarned(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held)
		r.start()
		first := r.startPipeline("held", roof)
		if len(first.Warnings) != 0 {
			t.Errorf("the first pipeline is warned: %q", first.Warnings)
		}
		link := filepath.Join(filepath.Dir(r.root), "link")
		if err := os.Symlink(r.work, link); err != nil {
			t.Fatal(err)
		}
		open := []int64{first.ID}
		for _, dir := range []string{r.work, r.work + "/.", link} {
			p := r.createPipeline(pipelines.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: dir})
			if len(p.Warnings) != 1 {
				t.Fatalf("in %s the pipeline is warned %q, want one sentence", dir, p.Warnings)
			}
			for _, id := range open {
				if !strings.Contains(p.Warnings[0], fmt.Sprint(id)) {
					t.Errorf("%q does not name the pipeline %d", p.Warnings[0], id)
				}
			}
			if got := r.awaitPipelineTold(p.ID, "pipeline_warning", 1); !strings.Contains(got, p.Warnings[0]) {
				t.Errorf("the operator was told %q, want %q", got, p.Warnings[0])
			}
			open = append(open, p.ID)
		}
		elsewhere := filepath.Join(r.work, "elsewhere")
		if err := os.Mkdir(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		if p := r.createPipeline(pipelines.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: elsewhere}); len(p.Warnings) != 0 {
			t.Errorf("elsewhere the pipeline is warned: %q", p.Warnings)
		} else {
			open = append(open, p.ID)
		}
		release()
		for _, id := range open {
			r.awaitPipeline(id, daemon.PipelineDone)
		}
		if p := r.startPipeline("held", roof); len(p.Warnings) != 0 {
			t.Errorf("when all have ended the pipeline is warned: %q", p.Warnings)
		}
	})
}
