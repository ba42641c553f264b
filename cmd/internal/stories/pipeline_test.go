package stories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
)

// TestPipelineFeedsEachStepToTheNext: Two steps run. The second gets the output of the first, and each agent is gone
// afterwards.
func TestPipelineFeedsEachStepToTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	writeTemplate(r, "two", "developer", "reviewer | prompt: Look closely.")
	r.start()
	p := startPipeline(r, "two", "Mend the roof.")
	if p.Status != daemon.PipelineRunning || len(p.Steps) != 2 {
		t.Errorf("a new pipeline is %s with %d steps", p.Status, len(p.Steps))
	}
	p = awaitPipeline(r, p.ID, daemon.PipelineDone)
	wantSteps(r, p, "done done")
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

const another = "---\nname: %s\ndescription: Somebody else.\n---\n\nSomething else altogether.\n"

// TestPipelineKeepsItsTemplateAndPersonas: Later changes of the template and the personas do not change the pipeline.
func TestPipelineKeepsItsTemplateAndPersonas(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		file, release := newHoldFile(r)
		writeTemplate(r, "three", "developer | prompt: Work. @hold "+file, "reviewer-ada-1 | prompt: Look. | description: The eye.", "tester | prompt: Try.")
		r.start()
		p := startPipeline(r, "three", "Mend the roof. @report")
		first := awaitWorkingAgent(r, p.ID, 1)

		r.wantTold(first.ID, "Mend the roof.")
		text := systemPrompt(r, first.ID)
		for _, part := range []string{strings.TrimSpace(awaitSkill(r, con, "")), "You are step 1 of 3", `"a test"`} {
			if !strings.Contains(text, part) {
				t.Errorf("step 1 knows\n%s\nwant %q", text, part)
			}
		}
		skills := map[string]string{}
		for _, slug := range []string{"reviewer-ada-1", "tester-kit-1"} {
			skills[slug] = strings.TrimSpace(awaitSkill(r, slug, ""))
			writeFile(r, filepath.Join(r.dir.Persona(slug), "skill.md"), fmt.Sprintf(another, slug))
			awaitSkill(r, slug, "Something else")
		}
		if _, err := r.client.ArchivePersona(t.Context(), "tester-kit-1"); err != nil {
			t.Fatal(err)
		}
		writeTemplate(r, "three", "tester | prompt: Another.")
		awaitTemplate(r, "three", func(t api.Template) bool { return len(t.Steps) == 1 })
		release()

		p = awaitPipeline(r, p.ID, daemon.PipelineDone)
		wantSteps(r, p, "done done done")
		for i, want := range []struct{ slug, told, place string }{
			{"reviewer-ada-1", "Look.", "You are step 2 of 3"}, {"tester-kit-1", "Try.", "You are step 3 of 3"},
		} {
			id := p.Steps[i+1].AgentIDs[0]
			if text := systemPrompt(r, id); !strings.Contains(text, skills[want.slug]) || strings.Contains(text, "Something else") || !strings.Contains(text, want.place) {
				t.Errorf("step %d knows\n%s\nwant the skill of %s as it was", i+2, text, want.slug)
			}
			if got := r.told(id)[0]; !strings.Contains(got, "\n\n"+want.told+"\n\n## Original request\n\nMend the roof.") {
				t.Errorf("step %d was told %q", i+2, got)
			}
			if a := r.getAgent(id); said(a.Persona) != want.slug || a.Cwd != r.work {
				t.Errorf("step %d: agent %+v", i+2, a)
			}
		}
		if text := systemPrompt(r, p.Steps[1].AgentIDs[0]); !strings.Contains(text, "The eye.") {
			t.Errorf("step 2 does not know its part:\n%s", text)
		}
	})
}

// awaitTemplate waits until ok returns true for the daemon's template.
func awaitTemplate(r *rig, name string, ok func(api.Template) bool) (found api.Template) {
	r.t.Helper()
	r.await("template "+name, func() (bool, string) {
		list, err := r.client.Templates(r.t.Context())
		for _, t := range list {
			if t.Name == name && ok(t) {
				found = t
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v %v", list, err)
	})
	return found
}

// TestStepWithoutPersonaFailsWhenReached: The pipeline is created all the same. The step fails when it is reached,
// with the missing persona's name, and a resume goes on once there is a persona.
func TestStepWithoutPersonaFailsWhenReached(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		writeTemplate(r, "cast", "developer | prompt: Work. @say Done.", "plumber", "tester")
		r.start()
		p := startPipeline(r, "cast", "Mend the roof.")
		if p.Steps[1].Persona != nil || said(p.Steps[0].Persona) != con {
			t.Errorf("a new pipeline is played by %q and %q", said(p.Steps[0].Persona), said(p.Steps[1].Persona))
		}
		p = awaitPipelineFailure(r, p.ID, 2, "Persona \"plumber\" does not exist, as a slug or as a role: `understudy persona list` shows those that do")
		wantSteps(r, p, "done failed pending")
		if !strings.Contains(p.Hint, "understudy persona add") || len(p.Steps[1].AgentIDs) != 0 {
			t.Errorf("hint %q, agents %v", p.Hint, p.Steps[1].AgentIDs)
		}
		added, err := r.client.CreatePersona(t.Context(), personas.New{Role: "plumber", Name: "mario", Skill: "You mend pipes."})
		if err != nil {
			t.Fatal(err)
		}
		resumePipeline(r, p.ID, false)
		p = awaitPipeline(r, p.ID, daemon.PipelineDone)
		wantSteps(r, p, "done done done")
		if said(p.Steps[1].Persona) != added.Slug || p.Error != nil || p.Hint != "" || len(p.Steps[0].AgentIDs) != 1 {
			t.Errorf("pipeline %+v: want step 2 by %s", p, added.Slug)
		}
		if text := systemPrompt(r, p.Steps[1].AgentIDs[0]); !strings.Contains(text, "You mend pipes.") {
			t.Errorf("step 2 knows\n%s", text)
		}
		wantOnlyPrompt(r, p.Steps[1].AgentIDs[0], r.output(p, 1))
	})
}
