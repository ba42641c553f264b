package stories

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// startPipelineWithTask creates a pipeline of two steps whose first agent is idle. The agent has said that the roof is mended,
// and has a background task that goes on until release is called.
func (r *rig) startPipelineWithTask() (p daemon.Pipeline, a daemon.Agent, release func()) {
	r.t.Helper()
	file, release := r.newHoldFile()
	r.writeTemplate("background", "developer | prompt: Work. @background @hold "+file+" @say The roof is mended.", "reviewer | prompt: Look. @say Fine.")
	r.start()
	p = r.awaitPipelineThat(r.startPipeline("background", "-").ID, "note on background tasks", func(p daemon.Pipeline) bool {
		return strings.Contains(p.Note, "background tasks")
	})
	return p, r.getAgent(p.Steps[0].AgentIDs[0]), release
}

// TestEndlessBackgroundTaskEndsWithTheStepsTime: The task may be a server that was left running. When the step's time
// is over, the step is done with what its agent said.
func TestEndlessBackgroundTaskEndsWithTheStepsTime(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		p, a, _ := r.startPipelineWithTask()
		r.runOutOfTime(p.ID, 1)
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		r.wantSteps(p, "done done")
		r.wantStoredOutput(p, 1, "The roof is mended.")
		const want = "Step 1 (developer) ended with a background task of its agent still at work."
		if len(p.Warnings) != 1 || p.Warnings[0] != want {
			t.Errorf("warnings %q, want %q", p.Warnings, want)
		}
		if text := r.awaitPipelineAlert(p.ID, "pipeline_warning"); !strings.Contains(text, want) {
			t.Errorf("operator was told %q", text)
		}
		r.awaitState(a.ID, daemon.Ended)
	})
}

// TestAnswerToAnInstructionIsNotTheOutput: No hook confirms the instruction, and the handoff comes to nothing. The
// agent's answer about the document is not the step's output.
func TestAnswerToAnInstructionIsNotTheOutput(t *testing.T) {
	t.Parallel()
	for name, behaviour := range map[string]string{
		"found while the turn runs": "think=3s,no-prompt-hook,no-document",
		"found after the turn":      "no-prompt-hook,no-document",
	} {
		for _, cancelled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, cancelled %t", name, cancelled), func(t *testing.T) {
				story(t, func(t *testing.T, r *rig) {
					p, a, release := r.startPipelineWithTask()
					r.misbehave(behaviour)
					id := r.requestHandoff(a.ID)
					r.awaitPhase(id, daemon.AwaitingDocument)
					dl := r.awaitVerdict(a.ID, r.deliveries(a.ID)[0].ID, daemon.Submitted)
					if dl.Kind != daemon.KindInstruction || !strings.Contains(dl.Evidence, "transcript") {
						t.Errorf("%s was confirmed by %q, want the transcript", dl.Kind, dl.Evidence)
					}
					if cancelled {
						r.cancelHandoff(a.ID, daemon.AwaitingDocument)
					} else if r.writeBlankDocument(id); r.awaitPhase(id, daemon.Failed).RecordedAt != nil {
						t.Error("a blank document was recorded")
					}
					r.await("the answer to the instruction", func() (bool, string) {
						said := r.answers(a.ID)
						return len(said) == 2 && r.getAgent(a.ID).State == daemon.Idle, fmt.Sprintf("%q", said)
					})
					want := "The roof is mended."
					if cancelled {
						r.runOutOfTime(p.ID, 1)
					} else { // A turn after that is the agent's own work again.
						want = "The background task has finished."
						r.misbehave("")
						release()
					}
					r.wantStoredOutput(r.awaitPipeline(p.ID, daemon.PipelineDone), 1, want)
				})
			})
		}
	}
}

// writeBlankDocument writes a document that the check refuses.
func (r *rig) writeBlankDocument(handoffID int64) {
	r.t.Helper()
	if err := os.WriteFile(r.getHandoff(handoffID).FilePath, []byte("\n"), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestUndeliveredMessagesOfAStepAreToldOf: Messages wait for the end of a turn when their step fails or is aborted.
// The operator is told that they were not delivered.
func TestUndeliveredMessagesOfAStepAreToldOf(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"aborted", "aborted at once", "timed out", "killed"} {
		t.Run(how, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				failing := r.gateCommits(telling("pipeline_failed"))[0]
				p, a, _ := r.startHeldPipeline("")
				sent := []daemon.Delivery{r.sendMessage(a.ID, "and the chimney")}
				done := async(func() error { return nil })
				switch how {
				case "timed out":
					r.runOutOfTime(p.ID, 1)
				case "killed":
					if err := r.tmux.Kill(t.Context(), r.pane(a.ID).Ref); err != nil {
						t.Fatal(err)
					}
				default:
					done = async(func() error { _, err := r.client.AbortPipeline(t.Context(), p.ID); return err })
				}
				failing.await(t)
				if how == "aborted at once" {
					sent = append(sent, r.sendMessage(a.ID, "and the gutter"))
				}
				failing.goOn()
				if err := r.awaitResult(done); err != nil {
					t.Errorf("abort: %v", err)
				}
				r.awaitPipeline(p.ID, daemon.PipelineFailed)
				r.awaitState(a.ID, daemon.Ended)
				for _, dl := range sent {
					r.awaitVerdict(a.ID, dl.ID, daemon.NotSubmitted)
					r.wantToldOnce(a.ID, dl.ID)
				}
			})
		})
	}
}

// wantToldOnce waits until the operator was told that a delivery did not reach its agent. It fails unless exactly one
// alert says so.
func (r *rig) wantToldOnce(agentID, deliveryID int64) {
	r.t.Helper()
	var about []event.Event
	r.await(fmt.Sprintf("operator told of delivery %d", deliveryID), func() (bool, string) {
		about = slices.DeleteFunc(r.agentEvents(agentID, "delivery_not_submitted"), func(e event.Event) bool {
			return field(r.t, e, "delivery_id") != float64(deliveryID)
		})
		told := r.eventsWhere(func(e event.Event) bool {
			return e.Type == "operator_notified" && len(about) > 0 && field(r.t, e, "event_id") == float64(about[0].ID)
		})
		return len(told) > 0, fmt.Sprintf("%d such events", len(about))
	})
	if len(about) != 1 || !about[0].Alert {
		r.t.Errorf("events %+v of delivery %d, want one alert", about, deliveryID)
	}
}

// TestSuccessorCanReadALongTask: The task is too long for an argument and lies in a file. The file must outlive the
// predecessor, and the successor may read it.
func TestSuccessorCanReadALongTask(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		leaving := r.gateCommits(ofOutput)[0]
		r.writeTemplate("two", "developer", "reviewer | prompt: Look. @say Fine.")
		r.start()
		prompt := strings.Repeat("Mend the roof\r\nand \"paint\" it: ünïcödé.\n", 5000) + " "
		if len(prompt) < 200_000 {
			t.Fatalf("%d bytes", len(prompt))
		}
		r.misbehave("think=5s")
		p := r.startPipeline("two", prompt)
		a := r.awaitWorkingAgent(p.ID, 1)
		id := r.requestHandoff(a.ID)
		r.awaitNote(id, noteBusyPart)
		r.misbehave("")
		h := r.awaitPhase(id, daemon.Completed)
		leaving.await(t)
		next, path := *h.SuccessorID, r.dir.Launch(*h.SuccessorID)+"/task.md"
		if text := r.systemPrompt(next); !strings.Contains(text, "What it was asked to do stands in "+path) {
			t.Errorf("successor knows\n%s", text)
		}
		if r.readFile(path) != prompt {
			t.Error("the file does not hold the prompt byte for byte")
		}
		argv := r.launchFile(next).Argv
		settings := r.readFile(argv[slices.Index(argv, "--settings")+1])
		if rule := fmt.Sprintf("%q", "Read(/"+path+")"); !strings.Contains(settings, rule) {
			t.Errorf("settings do not allow %s:\n%s", rule, settings)
		}
		leaving.goOn()
		r.wantContinued(p.ID, a, h)
	})
}

// TestResumeGoesOnWithAHandoffOnce: If the handoff fails again after the resume, the next resume begins the step
// anew. Otherwise the step could never be done.
func TestResumeGoesOnWithAHandoffOnce(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		p, a, h := r.startFailedAfterRecord()
		r.misbehave("crash-at-start")
		r.resumePipeline(p.ID, false)
		r.awaitPipelineThat(p.ID, "failed again", func(p daemon.Pipeline) bool { return !p.Open() && len(p.Steps[0].AgentIDs) == 3 })
		r.awaitPhase(h.ID, daemon.Failed)
		_, err := r.client.RetryHandoff(t.Context(), h.ID, "")
		wantConflict(t, err, "pipeline_failed")
		if want := fmt.Sprintf("`understudy pipeline resume %d`", p.ID); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("retry: %v, want %s named", err, want)
		}
		r.misbehave("")
		r.resumePipeline(p.ID, false)
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		ids := p.Steps[0].AgentIDs
		if len(ids) != 4 || len(r.successors(a.ID)) != 2 {
			t.Fatalf("step 1 was worked on by %v, want two successors of %d and one anew", ids, a.ID)
		}
		if b := r.getAgent(ids[3]); b.PreviousAgentID != nil || b.Generation != 1 {
			t.Errorf("agent %+v, want one anew", b)
		}
		r.wantOnlyPrompt(ids[3], r.stepInput(p.ID, 1))
		if h := r.getHandoff(h.ID); h.Phase != daemon.Failed {
			t.Errorf("handoff is %s", h.Phase)
		}
		r.wantAtMostLive(1)
	})
}

// lookedStore counts the looks at a pipeline.
type lookedStore struct {
	daemon.Store
	looked func()
}

func (s *lookedStore) Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error) {
	s.looked()
	return s.Store.Pipeline(ctx, id)
}

// TestStopAppliedAfterTheAgentsEndCounts: The agent is killed right after its Stop, and the daemon finds the process
// gone before it applies the Stop. The step is done, because its turn was over. Here the Stop has arrived, and is
// applied long after the pipeline has first looked at the agent.
func TestStopAppliedAfterTheAgentsEndCounts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		stopping := newGate(t)
		var gone atomic.Pointer[time.Time]
		r.bendWith(&bend{
			hook: func(in daemon.HookInput, do func() (daemon.HookResult, error)) (daemon.HookResult, error) {
				if in.Event == "Stop" {
					stopping.pass()
				}
				return do()
			},
			commit: func(c *daemon.Change, do func() error) error {
				err := do()
				if err == nil && telling("agent_ended")(c) {
					now := time.Now()
					gone.Store(&now)
				}
				return err
			},
		})
		around := r.cfg.Around
		r.cfg.Around = func(cfg daemon.Config) daemon.Config {
			cfg = around(cfg)
			cfg.Store = &lookedStore{cfg.Store, func() {
				if at := gone.Load(); at != nil && time.Since(*at) > 2*time.Second {
					stopping.goOn()
				}
			}}
			return cfg
		}
		r.writeTemplate("two", "developer | prompt: Work. @say It is done.", "reviewer | prompt: Look. @say Fine.")
		r.start()
		p := r.startPipeline("two", "-")
		stopping.await(t)
		a := r.getPipeline(p.ID).Steps[0].AgentIDs[0]
		r.killAgent(a)
		select { // Whoever asks for the pipeline looks at it too.
		case <-stopping.open:
		case <-time.After(cmdtest.Eventually):
			t.Fatal("nobody looked at the pipeline of the agent that is gone\n" + r.report())
		}
		p = r.awaitPipeline(p.ID, daemon.PipelineDone)
		r.wantSteps(p, "done done")
		r.wantStoredOutput(p, 1, "It is done.")
		if len(p.Steps[0].AgentIDs) != 1 || r.getAgent(a).State != daemon.Ended {
			t.Errorf("step 1 was worked on by %v", p.Steps[0].AgentIDs)
		}
	})
}

func TestPipelinesSharingFromTheSameMomentAreWarned(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		creating := r.gateCommits(func(c *daemon.Change) bool { return c.NewPipeline != nil })[0]
		held, release := r.holdingStep("developer")
		r.writeTemplate("held", held, "reviewer")
		r.start()
		in := daemon.NewPipeline{Template: "held", Title: "a test", Prompt: roof, Cwd: r.work}
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

// TestDialogBeforeTheSessionOfAStepIsToldOf: No hook reports a dialog that opens before the session. The daemon sees
// it in the pane, and the operator is told before the step's time is over.
func TestDialogBeforeTheSessionOfAStepIsToldOf(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.bendWith(&bend{capture: func(do func() (map[string]string, error)) (map[string]string, error) {
			shown, err := do()
			for pane := range shown {
				shown[pane] = strings.Repeat("─", 80) + "\n Accessing workspace:\n\n /work\n\n ❯ 1. Yes, I trust this folder\n   2. No, exit\n\n Enter to confirm · Esc to cancel\n"
			}
			return shown, err
		}})
		r.misbehave("slow-start=1h")
		r.writeTemplate("two", "developer", "reviewer")
		r.start()
		id := r.startPipeline("two", roof).ID
		p := r.awaitPipelineThat(id, "note on a dialog", func(p daemon.Pipeline) bool { return p.Note != "" })
		a := p.Steps[0].AgentIDs[0]
		if want := fmt.Sprintf("a dialog waits in the pane of agent %d: answer it with `understudy agent attach %[1]d`", a); p.Note != want {
			t.Errorf("pipeline says %q, want %q", p.Note, want)
		}
		if text := r.awaitPipelineAlert(id, "pipeline_waiting"); !strings.Contains(text, "understudy agent attach") {
			t.Errorf("operator was told %q", text)
		}
		r.abortPipeline(id, "failed pending")
		r.awaitState(a, daemon.Ended)
	})
}
