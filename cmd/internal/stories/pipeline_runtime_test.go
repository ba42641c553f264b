package stories

import (
	"os"
	"slices"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/commands"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// TestStepsRunOnTheRuntimeAndModelThatAreNamed: The template names them for its second step, and the request for its third. A model belongs to
// a runtime: the fourth step loses that of the template with the runtime.
func TestStepsRunOnTheRuntimeAndModelThatAreNamed(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		onLimit(r, daemon.LimitAsk, fallback)
		var holds [4]string
		var release [4]func()
		for i := range holds {
			holds[i], release[i] = newHoldFile(r)
		}
		writeTemplate(r, "four", "developer | prompt: "+quoted("@hold "+holds[0]),
			"developer | prompt: "+quoted("@hold "+holds[1])+" | runtime: "+fallback+" | model: opus",
			"developer | prompt: "+quoted("@hold "+holds[2])+" | model: haiku",
			"developer | prompt: "+quoted("@hold "+holds[3])+" | runtime: claude | model: opus")
		r.start()
		s := sit(r, false, "pipeline", "run", "four", "--prompt", "Mend the roof.", "--cwd", r.work,
			"--runtime", "3="+fallback, "--model", "3=sonnet", "--runtime", "4="+fallback)
		s.wantExit(commands.ExitDone)
		for i, want := range []struct{ runtime, model string }{{"claude", ""}, {fallback, "opus"}, {fallback, "sonnet"}, {fallback, ""}} {
			a := awaitWorkingAgent(r, 1, i+1)
			step := getPipeline(r, 1).Steps[i]
			if a.Runtime != want.runtime || step.Runtime != want.runtime || step.Model != want.model {
				t.Errorf("step %d on %s %q, its agent on %s, want %s %q", i+1, step.Runtime, step.Model, a.Runtime, want.runtime, want.model)
			}
			argv := launchFile(r, a.ID).Argv
			if at := slices.Index(argv, "--model"); want.model == "" && at >= 0 || want.model != "" && (at < 0 || argv[at+1] != want.model) {
				t.Errorf("step %d launched by %q, want the model %q", i+1, argv, want.model)
			}
			release[i]()
		}
		awaitPipeline(r, 1, daemon.PipelineDone)
	})
}

// TestPipelineWithoutADirectoryWorksInTheDaemons: Over HTTP nothing else fills in a directory.
func TestPipelineWithoutADirectoryWorksInTheDaemons(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		writeTemplate(r, "one", "developer")
		r.start()
		in := pipelines.NewPipeline{Template: "one", Title: "a test", Prompt: "Mend the roof."}
		if p := createPipeline(r, in); p.Cwd != here {
			t.Errorf("the pipeline works in %s, want %s", p.Cwd, here)
		}
		r.halt()
		r.cfg.Settings.Pipeline.Cwd = r.work
		r.start()
		if p := createPipeline(r, in); p.Cwd != r.work {
			t.Errorf("the pipeline works in %s, want the setting %s", p.Cwd, r.work)
		}
	})
}
