package sim

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// writeTemplate writes a template, which the next daemon reads.
func writeTemplate(p *person, h *host, name, steps string) {
	p.w.ok(os.WriteFile(filepath.Join(h.dir.Pipelines(), name+".yaml"), []byte("name: "+name+"\nsteps:\n"+steps), 0o600))
	p.end(h)
}

// says has the agents that start from now on say these things at the ends of their turns, one after the other.
func says(p *person, said ...string) {
	p.w.born = func(a *agent) {
		a.says = func() (next string) {
			next, said = said[0], said[1:]
			return next
		}
	}
}

// has reports whether one of the texts has the part.
func has(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) })
}

// TestOutputsOfSteps: the fields of an output are kept, and an output without them is passed on as it is. After a step that says nothing the
// next one is told what it would be told if it were the first, and the operator is told. Every run checks whose the outputs are.
func TestOutputsOfSteps(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "outputs", "- agent: developer-con-1\n- agent: developer-kim-2\n- agent: developer-ada-3\n- agent: developer-ada-3\n  prompt: Look closely.\n")
		says(p, "## What Was Done\n\nThe roof is mended.\n\n## Decisions Made\n\n- Slate: it lasts", "Fine.", "", "Done.")
		pl := p.reachStatus(p.startPipeline(h, "outputs"), daemon.PipelineDone)
		if m := pl.Steps[0].LatestHandoff.Metadata; m == nil || *m.WhatWasDone != "The roof is mended." || *m.DecisionsMade != "- Slate: it lasts" || m.OpenQuestions != nil {
			t.Errorf("the fields are %+v", m)
		}
		for i, want := range []string{"Mend the roof", "## Handoff from previous step (developer-con-1)\n\n**What was done**", "Fine.", "Look closely.\n\n## Original request\n\nMend the roof"} {
			s := pl.Steps[i]
			if out := s.LatestHandoff; !strings.HasPrefix(s.Input, strings.TrimSpace(want)) && s.Input != want || i > 0 && out.Metadata != nil || out.ContextChecksum == nil {
				t.Errorf("step %d was told %q and left %+v", i+1, s.Input, out)
			}
		}
		if out := pl.Steps[1].LatestHandoff; out.Metrics.DecisionsTransferred != 1 || out.Metrics.MessagesTransferred < 4 || out.Metrics.ContextSizeBytes == 0 {
			t.Errorf("the second step passes on %+v", out.Metrics)
		}
		if e := eventsOf(p, event.StepOutputEmpty); len(e) != 1 || !e[0].Alert || *e[0].StepID != pl.Steps[2].ID || !has(pl.Warnings, "Step 3 (developer-ada-3) left nothing") || !has(pl.Warnings, "Step 2 (developer-kim-2) left none of the four headings") || len(pl.Warnings) != 3 {
			t.Errorf("%d alerts, warnings %q", len(e), pl.Warnings)
		}
	})
}

// TestOutputFromTheTranscript: the hook of the end of a turn has no final message. The transcript has it.
func TestOutputFromTheTranscript(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mum = true }
		pl := p.reachStatus(p.startPipeline(h, "one"), daemon.PipelineDone)
		if got := pl.Steps[0].LatestHandoff.ContentMD; !strings.HasPrefix(got, "Noted: ") {
			t.Errorf("the step left %q", got)
		}
	})
}

// TestPipelineKeepsItsTemplateAndPersonas: a pipeline goes on as it began, whatever becomes of the template and of the skill of a persona.
func TestPipelineKeepsItsTemplateAndPersonas(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "kept", "- agent: developer-kim-2\n- agent: developer-con-1\n  prompt: Look.\n  description: The eye.\n")
		p.w.born = func(a *agent) {
			p.w.born = nil
			a.extra = func(context.Context) bool {
				writeSkill(p, h, "---\nname: x\ndescription: somebody else\n---\nSomething else.\n")
				p.w.employ("another", func(p *person) { writeTemplate(p, h, "kept", "- agent: developer-kim-2\n") })
				return true
			}
		}
		var skill string
		id := p.startPipeline(h, "kept")
		p.newest(id, 0)
		p.w.born = func(a *agent) { a.says = func() string { skill = a.skill; return "Fine." } }
		pl := p.reachStatus(id, daemon.PipelineDone)
		if s := pl.Steps[1]; *s.Persona != personaSlugs[0] || !strings.HasPrefix(s.Input, "Noted: ") || len(pl.Steps) != 2 {
			t.Errorf("the second step was told %q as %v", s.Input, s.Persona)
		}
		for _, part := range []string{"You develop with care.", "You are step 2 of 2", "The eye."} {
			if !strings.Contains(skill, part) || strings.Contains(skill, "Something else.") {
				t.Errorf("its agent knows %q, want %q", skill, part)
			}
		}
	})
}

// TestStepWithoutAPersona: the pipeline is created, with a warning. The step fails when it is reached, and a resume goes on once there is a
// persona; then the warning is gone.
func TestStepWithoutAPersona(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "cast", "- agent: developer-con-1\n- agent: plumber\n")
		id := p.startPipeline(h, "cast")
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if pl.ErrorCode != daemon.CodeUnknownPersona || !strings.Contains(pl.Hint, "understudy persona add") || !has(pl.Warnings, "Nobody can play step 2") || len(pl.Steps[1].AgentIDs) != 0 {
			t.Errorf("it failed with %s: %s %q", pl.ErrorCode, pl.Hint, pl.Warnings)
		}
		p.w.ok(os.CopyFS(h.dir.Persona("plumber-mario-1"), os.DirFS(h.dir.Persona(personaSlugs[0]))))
		p.end(h)
		p.resume(&pl, false)
		if pl = p.reachStatus(id, daemon.PipelineDone); *pl.Steps[1].Persona != "plumber-mario-1" || has(pl.Warnings, "Nobody can play") || len(pl.Steps[0].AgentIDs) != 1 {
			t.Errorf("the second step was played by %v: %q", pl.Steps[1].Persona, pl.Warnings)
		}
	})
}

// TestPipelinesInOneDirectory: whoever begins where another works is warned, by whatever name, and so is one that is resumed there.
func TestPipelinesInOneDirectory(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.born = func(a *agent) { a.mood.think = 40 * time.Second }
		p.w.ok(os.Symlink(h.cwd, h.cwd+"-link"))
		shared := func(id int64) bool {
			pl := pipelineOf(p, id)
			return has(pl.Warnings, "as well: they may overwrite")
		}
		first := p.startPipeline(h, "one")
		p.newest(first, 0)
		second := createPipeline(p, h, pipelines.NewPipeline{Template: "one", Cwd: h.cwd + "-link"})
		if shared(first) || !shared(second) || events(p, event.PipelineWarning) != 1 {
			t.Errorf("warned: %t and %t", shared(first), shared(second))
		}
		p.abort(h, first)
		pl := p.reachStatus(first, daemon.PipelineFailed)
		p.resume(&pl, false)
		p.await("the warning", 2*time.Minute, func() bool { return shared(first) })
		p.reachStatus(second, daemon.PipelineDone)
	})
}

// TestStepsRunOnWhatIsNamed: a template names a runtime and a model for a step, and a request others. A model belongs to a runtime, so a step
// that gets another runtime loses the model of its template.
func TestStepsRunOnWhatIsNamed(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "named", "- agent: developer-con-1\n- agent: developer-kim-2\n  runtime: "+fallback+"\n  model: opus\n- agent: developer-ada-3\n  model: haiku\n- agent: developer-con-1\n  runtime: claude\n  model: opus\n")
		awaitDaemon(p, h)
		h.daemon.d.Settings().Pipeline.Cwd = h.cwd
		pl := p.reachStatus(createPipeline(p, h, pipelines.NewPipeline{Template: "named", Steps: []pipelines.StepChoice{
			{Step: 3, Runtime: fallback}, {Step: 3, Model: "sonnet"}, {Step: 4, Runtime: fallback}}}), daemon.PipelineDone)
		for i, want := range []struct{ runtime, model string }{{"claude", ""}, {fallback, "opus"}, {fallback, "sonnet"}, {fallback, ""}} {
			row := rowOf(p, pl.Steps[i].AgentIDs[0])
			if a := p.w.newestProcess(row.ID); row.Runtime != want.runtime || want.model != "" && a.model != want.model || pl.Steps[i].Model != want.model || row.Cwd != h.cwd {
				t.Errorf("step %d ran on %s with %q in %s, want %+v", i+1, row.Runtime, a.model, row.Cwd, want)
			}
		}
	})
}
