package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// TestStepPastItsTimeFails: A turn, a dialog or a start that lasts too long fails the step and the pipeline. The
// agent is interrupted and ended.
func TestStepPastItsTimeFails(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Pipeline.StepTimeout = 5 * time.Second
		r.writeTemplate("turn", "developer | timeout: 4.5 | prompt: Work. @hold nowhere", "reviewer")
		r.writeTemplate("setting", "developer | prompt: Work. @hold nowhere", "reviewer", "tester")
		r.writeTemplate("dialog", "developer | timeout: 4500ms | prompt: Work. @ask", "reviewer")
		r.start()
		wants := map[int64]string{}
		dialog := r.startPipeline("dialog", "Mend the roof.").ID
		wants[dialog] = "4.5s"
		wants[r.startPipeline("turn", "Mend the roof.").ID] = "4.5s"
		wants[r.startPipeline("setting", "Mend the roof.").ID] = "5s"
		r.awaitPipelineThat(dialog, "note on a dialog", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "a dialog waits") })
		if text := r.awaitPipelineAlert(dialog, "pipeline_waiting"); !strings.Contains(text, "understudy agent attach") {
			t.Errorf("operator was told %q of the dialog", text)
		}
		for id, limit := range wants {
			p := r.awaitPipelineFailure(id, 1, "Step timed out after "+limit)
			a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
			if said(a.EndReason) != "prompt_input_exit" {
				t.Errorf("agent %d ended by %q", a.ID, said(a.EndReason))
			}
			r.wantStopStages(a.ID, daemon.StopBreak, daemon.StopAsked)
			var all []string
			for _, e := range r.transcript(a.ID) {
				all = append(all, fmt.Sprint(e.Message.Content))
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, "Request interrupted by user") || strings.Contains(text, " ok") {
				t.Errorf("agent %d was not interrupted:\n%s", a.ID, text)
			}
			if p := r.getPipeline(id); p.Note != "" {
				t.Errorf("failed pipeline has the note %q", p.Note)
			}
		}
	})
}

func TestAgentThatStartsTooSlowlyFailsItsStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.misbehave("slow-start=1h")
		r.writeTemplate("two", "developer | timeout: 0.5", "reviewer")
		r.start()
		p := r.awaitPipelineFailure(r.startPipeline("two", "Mend the roof.").ID, 1, "Step timed out after 0.5s")
		r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
		r.misbehave("")
		r.writeTemplate("two", "developer", "reviewer") // The pipeline keeps the template that it was created from.
		r.resumePipeline(p.ID, false)
		r.awaitPipelineThat(p.ID, "a second end", func(p daemon.Pipeline) bool { return !p.Open() })
		if ids := r.getPipeline(p.ID).Steps[0].AgentIDs; len(ids) != 2 {
			t.Errorf("step 1 was worked on by %v, want two agents", ids)
		}
	})
}

// TestRuntimeErrorFailsTheStep: The step and the pipeline fail in the runtime's own words.
func TestRuntimeErrorFailsTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		r.misbehave("api-error")
		p := r.awaitPipelineFailure(r.startPipeline("two", "Mend the roof.").ID, 1,
			"The agent's runtime reported an error instead of finishing: rate_limit: API Error: 429 rate_limit_error: this request would exceed your rate limit")
		r.awaitState(p.Steps[0].AgentIDs[0], daemon.Ended)
		if p.Steps[0].LatestHandoff != nil || len(r.outputEvents(p.ID)) != 0 {
			t.Errorf("a step that failed has left %+v", p.Steps[0].LatestHandoff)
		}
		r.misbehave("")
		r.resumePipeline(p.ID, false)
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if s := p.Steps[0]; s.Error != nil || p.Error != nil || p.Hint != "" || len(s.AgentIDs) != 2 {
			t.Errorf("pipeline %+v after it went on: want no trace of the error and a second agent", p)
		}
	})
}

// TestAgentThatEndsInItsTurnFailsTheStep: The agent ends in the middle of its turn: by a crash, a kill or a person.
func TestAgentThatEndsInItsTurnFailsTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer | prompt: Work. @hold nowhere", "reviewer")
		r.start()
		for how, end := range map[string]func(a daemon.Agent) error{
			"killed":      func(a daemon.Agent) error { r.killAgent(a.ID); return nil },
			"pane closed": func(a daemon.Agent) error { return r.tmux.Kill(t.Context(), r.pane(a.ID).Ref) },
			"stopped": func(a daemon.Agent) error {
				_, err := r.client.StopAgent(t.Context(), a.ID, false)
				return err
			},
		} {
			p := r.startPipeline("two", "Mend the roof.")
			a := r.awaitWorkingAgent(p.ID, 1)
			if err := end(a); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			a = r.awaitState(a.ID, daemon.Ended)
			reason, _, _ := strings.Cut(said(a.EndReason), "; its screen")
			got := r.awaitPipeline(p.ID, daemon.PipelineFailed)
			want := fmt.Sprintf("Agent %d ended before its turn was over (%s)", a.ID, event.EndWords(strings.SplitN(reason, "\n", 2)[0]))
			if how == "stopped" {
				want = fmt.Sprintf("Agent %d was stopped before its turn was over", a.ID)
			}
			if said(got.Error) != want {
				t.Errorf("%s: pipeline failed with %q, want %q", how, said(got.Error), want)
			}
			r.awaitPipelineFailure(p.ID, 1, said(got.Error))
		}
	})
}

func TestAgentThatCrashesAtStartFailsTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		r.misbehave("crash-at-start")
		p := r.awaitPipeline(r.startPipeline("two", "Mend the roof.").ID, daemon.PipelineFailed)
		if !strings.HasPrefix(said(p.Error), fmt.Sprintf("Agent %d ended before its turn was over (", p.Steps[0].AgentIDs[0])) {
			t.Errorf("pipeline failed with %q", said(p.Error))
		}
		r.awaitPipelineFailure(p.ID, 1, said(p.Error))
	})
}

// TestAgentThatDiesAfterItsStopHasDoneTheStep: The turn was over, although the agent is gone.
func TestAgentThatDiesAfterItsStopHasDoneTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		g := newGate(t)
		r.bendWith(&bend{commit: func(c *daemon.Change, do func() error) error {
			if c.NewOutput != nil {
				g.pass()
			}
			return do()
		}})
		r.writeTemplate("two", "developer | prompt: Work. @say It is done.", "reviewer")
		r.start()
		p := r.startPipeline("two", "-")
		g.await(t)
		a := r.awaitPipelineThat(p.ID, "its agent", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) == 1 }).Steps[0].AgentIDs[0]
		r.killAgent(a)
		r.awaitState(a, daemon.Ended)
		g.goOn()
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if got := r.output(p, 1); !strings.HasPrefix(got, "It is done.") || p.Steps[0].LatestHandoff.ID == 0 {
			t.Errorf("step 1 left %q", got)
		}
		if n := len(r.outputEvents(p.ID)); n != 2 {
			t.Errorf("%d outputs recorded, want one for each step", n)
		}
	})
}

// TestNextStepWaitsForTheAgentsEnd: The output of the step stays, however many rungs it takes to end the agent. The
// next step begins when the agent is gone.
func TestNextStepWaitsForTheAgentsEnd(t *testing.T) {
	t.Parallel()
	for behaviour, stages := range map[string][]daemon.StopStage{
		"ignore-exit":             {daemon.StopAsked, daemon.StopTerm},
		"ignore-exit,ignore-term": {daemon.StopAsked, daemon.StopTerm, daemon.StopKill},
		"exit-dialog":             {daemon.StopAsked, daemon.StopAnswer},
	} {
		t.Run(behaviour, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				if r.cfg.Settings.Handoff.ExitTimeout = time.Second; behaviour == "exit-dialog" {
					r.cfg.Settings.Handoff.ExitTimeout = 10 * time.Second
				}
				r.writeTemplate("two", "developer", "reviewer")
				r.start()
				r.misbehave(behaviour)
				p := r.awaitStep(r.startPipeline("two", "Mend the roof.").ID, 1, daemon.StepDone)
				first := p.Steps[0].AgentIDs[0]
				if a := r.getAgent(first); !a.Active() || p.Steps[1].Status != daemon.StepPending || p.Status != daemon.PipelineRunning {
					t.Errorf("agent is %s, pipeline %s, steps %q: want the agent alive, and step 2 to wait for it", a.State, p.Status, stepStatuses(p))
				}
				left := r.output(p, 1)
				p = r.awaitPipeline(p.ID, daemon.PipelineDone)
				r.wantStopStages(first, stages...)
				if a := r.getAgent(first); a.EndedAt == nil || p.Steps[1].StartedAt.Before(*a.EndedAt) {
					t.Errorf("step 2 began at %s, agent %d ended at %v", p.Steps[1].StartedAt, first, a.EndedAt)
				}
				if r.output(p, 1) != left || p.Steps[0].Error != nil {
					t.Errorf("step 1 is %+v after its agent's end", p.Steps[0])
				}
				r.awaitState(p.Steps[1].AgentIDs[0], daemon.Ended)
			})
		})
	}
}

// TestAgentThatDoesNotEndHoldsUpNoPipeline: Neither the pipeline nor the output waits for an agent that nothing ends.
func TestAgentThatDoesNotEndHoldsUpNoPipeline(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.ExitTimeout = time.Hour
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		r.misbehave("developer-:ignore-exit")
		p := r.awaitStep(r.startPipeline("two", "Mend the roof.").ID, 1, daemon.StepDone)
		id := p.Steps[0].AgentIDs[0]
		r.await("an agent that was asked to exit", func() (bool, string) { return len(r.stopStages(id)) > 0, "" })
		store := r.database()
		r.await("the ladder's end", func() (bool, string) {
			a, err := store.Agent(t.Context(), id)
			if err != nil {
				return false, err.Error()
			}
			a.StopStage = daemon.StopFailed
			return store.Commit(t.Context(), &daemon.Change{Agents: []*daemon.Agent{&a}}) == nil, "another writer was first"
		})
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if a := r.getAgent(id); !a.Active() || p.Error != nil {
			t.Errorf("agent is %s, pipeline failed with %q: want it alive and the pipeline done", a.State, said(p.Error))
		}
	})
}

// TestStepEndsWithTheAnswerToAWaitingMessage: A message that waits for the end of the turn belongs to the step.
func TestStepEndsWithTheAnswerToAWaitingMessage(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		file, release := r.newHoldFile()
		r.writeTemplate("one", "developer | prompt: Work. @hold "+file)
		r.start()
		p := r.startPipeline("one", "Mend the roof.")
		a := r.awaitWorkingAgent(p.ID, 1)
		dl := r.sendMessage(a.ID, "and the chimney @say The chimney, too.")
		release()
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		if got := r.output(p, 1); got != "The chimney, too." {
			t.Errorf("step left %q, want the answer to the message", got)
		}
		r.awaitState(a.ID, daemon.Ended)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	})
}

// TestStepWaitsForItsBackgroundTask: The step ends with the turn in which the agent is told that the task has ended.
func TestStepWaitsForItsBackgroundTask(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		file, release := r.newHoldFile()
		r.writeTemplate("one", "developer | prompt: Work. @background @hold "+file)
		r.start()
		p := r.startPipeline("one", "Mend the roof.")
		p = r.awaitPipelineThat(p.ID, "note on background tasks", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "background tasks") })
		r.wantSteps(p, "running")
		a := p.Steps[0].AgentIDs[0]
		if now := r.getAgent(a); now.State != daemon.Idle {
			t.Errorf("agent is %s, want it idle", now.State)
		}
		release()
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if got := r.output(p, 1); got != "The background task has finished." {
			t.Errorf("step left %q", got)
		}
		r.wantTold(a, "Mend the roof.", "<task-notification>")
		r.awaitState(a, daemon.Ended)
		r.wantKinds(a, daemon.KindExit)
	})
}

// TestStepEndsWithTheAnswerToAPersonsPrompt: A prompt that a person adds belongs to the step.
func TestStepEndsWithTheAnswerToAPersonsPrompt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		file, release := r.newHoldFile()
		r.writeTemplate("two", "developer | prompt: Work. @hold "+file, "reviewer")
		r.start()
		p := r.startPipeline("two", "Mend the roof.")
		a := r.awaitWorkingAgent(p.ID, 1)
		first := r.agentRow(a.ID).LastPrompt
		r.personTypes(a.ID, "and the chimney @say The chimney, too.", tmux.Enter)
		r.awaitShown(a.ID, "Queued: and the chimney")
		r.await("its hook", func() (bool, string) { return r.agentRow(a.ID).LastPrompt > first, "" })
		release()
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if got := r.output(p, 1); got != "The chimney, too." {
			t.Errorf("step 1 left %q, want the answer to the last prompt", got)
		}
		r.wantTold(a.ID, "Mend the roof.", "and the chimney")
	})
}

// TestEscapeDoesNotEndTheStep: The operator is told that the step waits. The answer to the next prompt is the step's
// output.
func TestEscapeDoesNotEndTheStep(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("two", "developer | prompt: Work. @hold nowhere", "reviewer")
		r.start()
		p := r.startPipeline("two", "Mend the roof.")
		a := r.awaitWorkingAgent(p.ID, 1)
		r.awaitShown(a.ID, "Mend the roof.")
		r.personPresses(a.ID, tmux.Escape)
		p = r.awaitPipelineThat(p.ID, "note on Esc", func(p daemon.Pipeline) bool { return strings.Contains(p.Note, "as after Esc") })
		r.wantSteps(p, "running pending")
		if text := r.awaitPipelineAlert(p.ID, "pipeline_waiting"); !strings.Contains(text, "prompt it in its pane") {
			t.Errorf("operator was told %q", text)
		}
		file, release := r.newHoldFile()
		r.personTypes(a.ID, "@hold "+file+" @say The gutter only.", tmux.Enter)
		p = r.awaitPipelineThat(p.ID, "no note", func(p daemon.Pipeline) bool { return p.Note == "" })
		r.wantSteps(p, "running pending")
		release()
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		if got := r.output(p, 1); got != "The gutter only." {
			t.Errorf("step 1 left %q", got)
		}
	})
}
