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

// thinking has the agents that start from now on think for that long.
func thinking(p *person, long time.Duration) {
	p.w.born = func(a *agent) { a.mood.think = long }
}

// rename gives a file another name.
func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Error(err)
	}
}

// TestAbortBelowADialog: a dialog stands in the pane of a step's agent, and the operator is told. An abort answers it with No and ends the
// agent. It is no alert, and the agents of others work on. An agent in a turn is interrupted.
func TestAbortBelowADialog(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, time.Hour)
		other := p.startPipeline(h, "one")
		works := p.newest(other, 0)
		p.w.born = func(a *agent) { a.extra = func(ctx context.Context) bool { return a.permission(ctx) } }
		id, a := begun(p, h, "four")
		p.await("the dialog", time.Minute, func() bool { return events(p, event.PipelineWaiting) == 1 })
		if pl := pipelineOf(p, id); !strings.Contains(pl.Note, "a dialog waits") || !eventsOf(p, event.PipelineWaiting)[0].Alert {
			t.Errorf("the pipeline says %q", pl.Note)
		}
		p.abort(h, id)
		wantCode(t, abort(p, h, id), daemon.CodePipelineEnded)
		p.await("its end", 30*time.Second, func() bool { return p.row(a).EndedAt != nil })
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if len(a.answers) > 0 || p.row(works).StopAskedAt != nil || pl.Note != "" || *pl.Steps[0].Error != "Pipeline aborted" || !strings.Contains(pl.Hint, "understudy pipeline resume") || eventsOf(p, event.PipelineFailed)[0].Alert {
			t.Errorf("it said %q; the pipeline says %q, %q", a.answers, pl.Note, pl.Hint)
		}
		p.abort(h, other)
		p.await("the end of its turn", 10*time.Second, func() bool { return works.cut && p.row(works).EndedAt != nil })
	})
}

// TestSuccessorAtAStep: a person hands the agent of a step over. The step goes on with the successor, which is told its place, and its answer is
// the output. The prompt of the step cannot be typed: it stays in a file that both may read.
func TestSuccessorAtAStep(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, 10*time.Second)
		prompt := strings.Repeat("Mend the roof\r\nand \"paint\" it: ünïcödé.\n", 5000)
		id := createPipeline(p, h, pipelines.NewPipeline{Template: "one", Prompt: prompt, Cwd: h.cwd})
		a := p.newest(id, 0)
		awaitTurn(p, a)
		p.requestHandoff(h, a, "")
		p.await("the note", time.Minute, func() bool {
			return strings.Contains(pipelineOf(p, id).Note, "agent 1 is being handed over (handoff 1)")
		})
		var task string
		p.w.born = func(next *agent) {
			p.w.born = nil
			next.extra = func(context.Context) bool {
				task = mustRead(h.dir.Launch(next.id) + "/task.md")
				if pl := pipelineOf(p, id); *pl.CurrentAgentID != next.id || !strings.Contains(next.skill, "What it was asked to do stands in "+h.dir.Launch(next.id)+"/task.md") {
					t.Errorf("agent %d works on the step; its successor was told %q", *pl.CurrentAgentID, next.skill)
				}
				return true
			}
		}
		pl := p.reachStatus(id, daemon.PipelineDone)
		if out := pl.Steps[0].LatestHandoff; task != prompt || !slices.Equal(pl.Steps[0].AgentIDs, []int64{1, 2}) || out.AgentID != 2 {
			t.Errorf("agents %v, the file has %d of %d bytes", pl.Steps[0].AgentIDs, len(task), len(prompt))
		}
	})
}

// TestRecordIsTakenUpOnce: no successor at a step can start. A resume goes on with the record of the handoff once; the next one begins the step
// anew, or it could never be done.
func TestRecordIsTakenUpOnce(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		thinking(p, 10*time.Second)
		id, a := begun(p, h, "one")
		p.w.born = func(next *agent) {
			next.mood.start = 0
			p.w.employEndless("chance", func(p *person) { next.end("crashed", 1) })
		}
		handoff := p.request(h, a, daemon.Failed)
		pl := p.reachStatus(id, daemon.PipelineFailed)
		if !strings.Contains(*pl.Error, "handoff 1 failed in phase awaiting_registration") || !strings.Contains(pl.Hint, "goes on with what that recorded") {
			t.Errorf("it failed with %q: %s", *pl.Error, pl.Hint)
		}
		p.resume(&pl, false)
		p.await("the second successor", 2*time.Minute, func() bool {
			pl = pipelineOf(p, id)
			return !pl.Open() && len(pl.Steps[0].AgentIDs) == 3
		})
		wantCode(t, p.retry(&handoff), daemon.CodePipelineFailed)
		p.w.born = nil
		p.resume(&pl, false)
		pl = p.reachStatus(id, daemon.PipelineDone)
		if last := rowOf(p, pl.Steps[0].AgentIDs[3]); last.PreviousAgentID != nil || p.handoffs(a.id)[0].Phase != daemon.Failed {
			t.Errorf("agent %+v ended the step, after handoffs %+v", last, p.handoffs(a.id))
		}
	})
}

// TestNextStepFollowsItsPredecessor: the next step works where the session of the step before has moved. It ends nobody as long as its agent
// could not start.
func TestNextStepFollowsItsPredecessor(t *testing.T) {
	for _, gone := range []bool{false, true} {
		storyAs(t, map[bool]string{false: "to another directory", true: "when its directory is back"}[gone], func(t *testing.T, p *person, h *host) {
			dir := filepath.Join(h.cwd, "tree-0")
			p.w.born = func(a *agent) {
				p.w.born = nil
				a.extra = func(context.Context) bool {
					if gone {
						rename(t, h.cwd, h.cwd+".away")
						return true
					}
					worksIn(a, dir)
					return true
				}
			}
			id, a := begun(p, h, "two")
			pl := p.reachStatus(id, daemon.PipelineWaiting)
			p.approve(&pl, h)
			if gone {
				pl = p.reachStatus(id, daemon.PipelineFailed)
				p.wait("looks on", 10*time.Second, 10*time.Second)
				if row := p.row(a); pl.ErrorCode != daemon.CodeAgentNotStartable || !strings.Contains(*pl.Error, "that directory is gone") || !row.Active() || row.StopAskedAt != nil {
					t.Errorf("it failed with %s: %s; agent %d is %s", pl.ErrorCode, *pl.Error, row.ID, row.State)
				}
				rename(t, h.cwd+".away", h.cwd)
				p.resume(&pl, false)
				p.reachStatus(id, daemon.PipelineDone)
				return
			}
			pl = p.reachStatus(id, daemon.PipelineDone)
			if second := rowOf(p, pl.Steps[1].AgentIDs[0]); second.Cwd != dir || !has(pl.Warnings, "moved to "+dir) {
				t.Errorf("the second step worked in %s: %q", second.Cwd, pl.Warnings)
			}
		})
	}
}

// TestInterruptedPipelineGoesOnOnce: the agent of a step ends with its tmux server while no daemon runs. If the settings say so, the next
// daemon begins the step again, and tells that. It does so once: then a person is asked. Every run checks both.
func TestInterruptedPipelineGoesOnOnce(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		p.w.resume = true
		thinking(p, 100*time.Second)
		p.end(h)
		id := p.startPipeline(h, "one")
		crash := func(agents int) {
			p.poll("its turn", func() bool { a := p.newest(id, 0); return a.stop != nil })
			p.w.delayFirst(calls("restarts "), func() time.Duration { h.term.die(); return time.Second })
			p.end(h)
			p.await("a pipeline that goes on, or does not", time.Minute, func() bool {
				pl := pipelineOf(p, id)
				return len(pl.Steps[0].AgentIDs) == agents && (agents == 2 || pl.Status == daemon.PipelineFailed)
			})
		}
		crash(2)
		crash(2)
		equal(t, "it was told … times that the pipeline goes on", events(p, event.PipelineWarning), 1)
	})
}

// TestResumeTakesUpALiveAgent: the agent of a step that has failed was not asked to stop. A resume goes on with it, and starts no other. Every
// run checks that.
func TestResumeTakesUpALiveAgent(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		id, a := atWork(p, h, time.Minute)
		pl := pipelineOf(p, id)
		why, now, s := "Failed by hand", time.Now(), &pl.Steps[0]
		pl.Status, pl.Error, pl.ErrorCode, pl.Hint, pl.FinishedAt = daemon.PipelineFailed, &why, daemon.CodeAgentNotStartable, why, &now
		s.Status, s.Error, s.FinishedAt = daemon.StepFailed, &why, &now
		p.w.ok(p.w.store.Commit(ctx(), &daemon.Change{PipelineMove: &daemon.PipelineMove{Pipeline: &pl, Steps: []*daemon.Step{s}}, Events: []*event.Event{
			{Type: event.PipelineFailed, PipelineID: &id, Alert: true, Payload: []byte(`{"status":"failed"}`)}, {Type: event.StepFailed, PipelineID: &id, StepID: &s.ID, Payload: []byte("{}")},
		}}))
		checkPipelines(p.w, nil, nil)
		p.resume(&pl, false)
		if pl = p.reachStatus(id, daemon.PipelineDone); !slices.Equal(pl.Steps[0].AgentIDs, []int64{a.id}) {
			t.Errorf("the step had the agents %v", pl.Steps[0].AgentIDs)
		}
	})
}

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
		names(t, "the skill of its agent", skill, "You develop with care.", "You are step 2 of 2", "The eye.")
		if strings.Contains(skill, "Something else.") {
			t.Errorf("its agent knows %q", skill)
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
