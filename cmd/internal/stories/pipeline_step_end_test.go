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
	"github.com/understudyd/understudy/daemon/engine"
)

// startPipelineWithTask creates a pipeline of two steps whose first agent is idle. The agent has said that the roof
// is mended, and has a background task that goes on until release is called.
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
		if !slices.Equal(otherWarnings(p), []string{want}) {
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
		r.around(func(cfg *engine.Config) {
			cfg.Store = &lookedStore{cfg.Store, func() {
				if at := gone.Load(); at != nil && time.Since(*at) > 2*time.Second {
					stopping.goOn()
				}
			}}
		})
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
