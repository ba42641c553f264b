package stories

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// startHeldPipeline creates a pipeline of two steps and waits until the first agent is in a turn, which goes on until
// release is called. Its prompt contains the words.
func startHeldPipeline(r *rig, words string) (p daemon.Pipeline, a daemon.Agent, release func()) {
	r.t.Helper()
	file, release := newHoldFile(r)
	writeTemplate(r, "held", "developer | prompt: "+quoted("Work. @hold "+file+" "+words), "reviewer | prompt: Look. @say Fine.")
	r.start()
	p = startPipeline(r, "held", "Mend the roof.")
	return p, awaitWorkingAgent(r, p.ID, 1), release
}

// gateAtOutput stops the daemon before it first records the output of a step.
func gateAtOutput(r *rig) *gate {
	g := newGate(r.t)
	r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
		if c.NewOutput != nil {
			g.pass()
		}
		return do()
	}})
	return g
}

// wantContinued fails unless the pipeline's first step was the work of the agent and its successor, and the
// successor's answer is the output.
func wantContinued(r *rig, id int64, a daemon.Agent, h daemon.Handoff) daemon.Pipeline {
	r.t.Helper()
	p := awaitPipeline(r, id, daemon.PipelineDone)
	next := *h.SuccessorID
	if ids := p.Steps[0].AgentIDs; !slices.Equal(ids, []int64{a.ID, next}) || len(otherWarnings(p)) > 0 {
		r.t.Errorf("step 1 was worked on by %v, want %d and %d; warnings %q", ids, a.ID, next, p.Warnings)
	}
	if p.Steps[0].LatestHandoff == nil || len(outputEvents(r, id)) != 2 {
		r.t.Fatalf("outputs of %+v: want one for each step", p)
	}
	said := answers(r, next)
	if got := r.output(p, 1); len(said) == 0 || got != said[len(said)-1] {
		r.t.Errorf("step 1 left %q, want what agent %d said last: %q", got, next, said)
	}
	r.awaitState(next, daemon.Ended)
	r.wantKinds(next, daemon.KindPrompt, daemon.KindExit)
	r.wantTold(next, h.Ref)
	return p
}

// TestSuccessorGoesOnWithTheStep: A person hands the agent of a step over while it works. The pipeline shows both
// agents.
func TestSuccessorGoesOnWithTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := gateAtOutput(r)
		p, a, release := startHeldPipeline(r, "")
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		awaitPipelineThat(r, p.ID, "note on the handoff", func(p daemon.Pipeline) bool {
			return strings.Contains(p.Note, fmt.Sprintf("agent %d is being handed over (handoff %d)", a.ID, id)) && *p.CurrentAgentID == a.ID
		})
		skill := filepath.Join(r.dir.Persona(con), "skill.md")
		was := strings.TrimSpace(awaitSkill(r, con, ""))
		writeFile(r, skill, "---\nname: "+con+"\ndescription: Somebody else.\n---\n\nSomething else.\n")
		awaitSkill(r, con, "Something else.")
		release()
		g.await(t)
		h := r.awaitPhase(id, daemon.Completed)
		now := getPipeline(r, p.ID)
		if now.CurrentAgentID == nil || *now.CurrentAgentID != *h.SuccessorID || now.Status != daemon.PipelineRunning {
			t.Errorf("pipeline %s, current agent %v, want %d", now.Status, now.CurrentAgentID, *h.SuccessorID)
		}
		wantSteps(r, now, "running pending")
		if text := systemPrompt(r, *h.SuccessorID); !strings.Contains(text, was) || strings.Contains(text, "Something else.") || !strings.Contains(text, "You are step 1 of 2") {
			t.Errorf("successor knows\n%s", text)
		}
		g.goOn()
		p = wantContinued(r, p.ID, a, h)
		r.wantKinds(a.ID, daemon.KindInstruction, daemon.KindExit)
		r.wantTold(a.ID, "Work.", instructed)
		if next := r.getAgent(*h.SuccessorID); p.Steps[1].StartedAt.Before(*next.EndedAt) || next.Name != a.Name {
			t.Errorf("step 2 began at %s, before the end of agent %+v", p.Steps[1].StartedAt, next)
		}
		if n := len(pipelineEvents(r, p.ID, "handoff_completed")); n != 1 {
			t.Errorf("%d events of the handoff's end in the pipeline's audit, want 1", n)
		}
	})
}

// TestFailedHandoffCostsTheStepNothing: The step then ends with what the agent said of its own work.
func TestFailedHandoffCostsTheStepNothing(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []string{"", "in the turn", "at the document"} {
		t.Run("cancelled "+cancelled, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.misbehave("no-document")
				p, a, release := startHeldPipeline(r, "@say The roof is mended.")
				id := r.requestHandoff(a.ID)
				r.awaitNote(id, noteBusyPart)
				switch cancelled {
				case "":
					release()
					r.awaitFailure(id, daemon.Verifying, data.DocumentMissing)
				case "in the turn":
					cancelHandoff(r, a.ID, daemon.Instructing)
					release()
				default:
					r.misbehave("think=1m,no-document")
					release()
					r.awaitPhase(id, daemon.AwaitingDocument)
					wantSteps(r, getPipeline(r, p.ID), "running pending")
					cancelHandoff(r, a.ID, daemon.AwaitingDocument)
					r.misbehave("no-document")
				}
				p = awaitPipeline(r, p.ID, daemon.PipelineDone)
				if got := strings.TrimSpace(r.output(p, 1)); got != "The roof is mended." {
					t.Errorf("step 1 left %q", got)
				}
				if ids := p.Steps[0].AgentIDs; len(ids) != 1 || len(r.successors(a.ID)) != 0 {
					t.Errorf("step 1 was worked on by %v", ids)
				}
				r.awaitState(a.ID, daemon.Ended)
			})
		})
	}
}

// startFailedAfterRecord creates a pipeline that failed because its first agent's successor failed.
func startFailedAfterRecord(r *rig) (p daemon.Pipeline, a daemon.Agent, h daemon.Handoff) {
	r.t.Helper()
	p, a, release := startHeldPipeline(r, "")
	id := r.requestHandoff(a.ID)
	r.awaitNote(id, noteBusyPart)
	r.misbehave("crash-at-start")
	release()
	h = r.awaitFailure(id, daemon.AwaitingRegistration, "successor_gone")
	p = awaitPipeline(r, p.ID, daemon.PipelineFailed)
	want := fmt.Sprintf("its handoff %d failed in phase awaiting_registration", id)
	if !strings.Contains(said(p.Error), want) || !strings.Contains(p.Hint, fmt.Sprintf("`understudy pipeline resume %d` goes on with what that recorded", p.ID)) {
		r.t.Errorf("pipeline failed with %q, hint %q", said(p.Error), p.Hint)
	}
	awaitPipelineFailure(r, p.ID, 1, said(p.Error))
	r.misbehave("")
	return p, a, h
}

// TestSuccessorCanReadALongTask: The task is too long for an argument and lies in a file. The file must outlive the
// predecessor, and the successor may read it.
func TestSuccessorCanReadALongTask(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		leaving := gateAtOutput(r)
		writeTemplate(r, "two", "developer", "reviewer | prompt: Look. @say Fine.")
		r.start()
		prompt := strings.Repeat("Mend the roof\r\nand \"paint\" it: ünïcödé.\n", 5000) + " "
		if len(prompt) < 200_000 {
			t.Fatalf("%d bytes", len(prompt))
		}
		r.misbehave("think=5s")
		p := startPipeline(r, "two", prompt)
		a := awaitWorkingAgent(r, p.ID, 1)
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		r.misbehave("")
		h := r.awaitPhase(id, daemon.Completed)
		leaving.await(t)
		next, path := *h.SuccessorID, r.dir.Launch(*h.SuccessorID)+"/task.md"
		if text := systemPrompt(r, next); !strings.Contains(text, "What it was asked to do stands in "+path) {
			t.Errorf("successor knows\n%s", text)
		}
		if r.readFile(path) != prompt {
			t.Error("the file does not hold the prompt byte for byte")
		}
		argv := launchFile(r, next).Argv
		settings := r.readFile(argv[slices.Index(argv, "--settings")+1])
		if rule := fmt.Sprintf("%q", "Read(/"+path+")"); !strings.Contains(settings, rule) {
			t.Errorf("settings do not allow %s:\n%s", rule, settings)
		}
		leaving.goOn()
		wantContinued(r, p.ID, a, h)
	})
}

// TestResumeGoesOnWithAHandoffOnce: If the handoff fails again after the resume, the next resume begins the step
// anew. Otherwise the step could never be done.
func TestResumeGoesOnWithAHandoffOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		p, a, h := startFailedAfterRecord(r)
		r.misbehave("crash-at-start")
		resumePipeline(r, p.ID, false)
		awaitPipelineThat(r, p.ID, "failed again", func(p daemon.Pipeline) bool { return !p.Open() && len(p.Steps[0].AgentIDs) == 3 })
		r.awaitPhase(h.ID, daemon.Failed)
		_, err := r.client.RetryHandoff(t.Context(), h.ID, "")
		wantConflict(t, err, "pipeline_failed")
		if want := fmt.Sprintf("`understudy pipeline resume %d`", p.ID); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("retry: %v, want %s named", err, want)
		}
		r.misbehave("")
		resumePipeline(r, p.ID, false)
		p = awaitPipeline(r, p.ID, daemon.PipelineDone)
		ids := p.Steps[0].AgentIDs
		if len(ids) != 4 || len(r.successors(a.ID)) != 2 {
			t.Fatalf("step 1 was worked on by %v, want two successors of %d and one anew", ids, a.ID)
		}
		if b := r.getAgent(ids[3]); b.PreviousAgentID != nil || b.Generation != 1 {
			t.Errorf("agent %+v, want one anew", b)
		}
		wantOnlyPrompt(r, ids[3], stepInput(r, p.ID, 1))
		if h := r.getHandoff(h.ID); h.Phase != daemon.Failed {
			t.Errorf("handoff is %s", h.Phase)
		}
		wantAtMostLive(r, 1)
	})
}
