package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/views"
)

// TestSuccessorStartsWhereTheSessionIs: a session has moved. Its row, the diff and the usage follow, and its successor starts there
// with the whole conversation, although the session goes back before its end.
func TestSuccessorStartsWhereTheSessionIs(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		dir := filepath.Join(r.work, "trees", "x")
		doTurn(r, a.ID, "Say one thing @say First.")
		doTurn(r, a.ID, "@move "+dir)
		now := r.getAgent(a.ID)
		if now.Cwd != dir || now.StartCwd != r.work || !strings.Contains(*now.TranscriptPath, "trees-x") || len(r.agentEvents(a.ID, "agent_moved")) != 1 {
			t.Errorf("agent in %s, begun in %q, transcript %s", now.Cwd, now.StartCwd, *now.TranscriptPath)
		}
		doTurn(r, a.ID, "Say another thing @say Second.")
		r.await("the usage of each answer, once", func() (bool, string) {
			want, answers := claudeUsage(r.readFile(*r.getAgent(a.ID).TranscriptPath))
			out, err := r.client.Usage(t.Context(), views.UsageByAgent, daemon.UsageQuery{AgentIDs: []int64{a.ID}})
			return err == nil && answers >= 3 && out.Total.Tokens == want, fmt.Sprintf("counted %+v; the transcript shows %+v in %d answers", out.Total.Tokens, want, answers)
		})
		h, _, next := handOver(r, a.ID)
		if next.Cwd != dir || next.StartCwd != "" || len(h.Warnings) > 0 {
			t.Errorf("successor in %s, warnings %q", next.Cwd, h.Warnings)
		}
		text := r.readFile(*h.ContextPath)
		for _, part := range []string{"First.", "Second."} {
			if !strings.Contains(text, part) {
				t.Errorf("the context lacks %q", part)
			}
		}
		if old := r.getAgent(a.ID); old.Cwd != dir || strings.Contains(*old.TranscriptPath, "trees-x") {
			t.Errorf("at its end the agent is in %s with transcript %s", old.Cwd, *old.TranscriptPath)
		}
	})
}

// TestOnlyTheAgentsOwnSessionMovesIt: neither a sub-agent, nor another session, nor the shell, nor a path that cannot be moves an agent.
func TestOnlyTheAgentsOwnSessionMovesIt(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		doTurn(r, a.ID, "@say Hello.")
		a = r.getAgent(a.ID)
		dir := filepath.Join(r.work, "x")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		projects := filepath.Dir(filepath.Dir(*a.TranscriptPath))
		in := func(dir string) string {
			return filepath.Join(projects, strings.ReplaceAll(dir, "/", "-"), *a.SessionID+".jsonl")
		}
		for name, body := range map[string]map[string]any{
			"sub-agent":       {"agent_id": "a1", "cwd": dir, "transcript_path": in(dir)},
			"another session": {"session_id": "S", "cwd": dir, "transcript_path": filepath.Join(filepath.Dir(in(dir)), "S.jsonl")},
			"the shell":       {"cwd": dir},
			"no such place":   {"cwd": filepath.Join(r.work, "gone"), "transcript_path": filepath.Join("/etc", *a.SessionID+".jsonl")},
			"not absolute":    {"cwd": "x", "transcript_path": "x/" + *a.SessionID + ".jsonl"},
			"another file":    {"cwd": dir, "transcript_path": filepath.Join(filepath.Dir(in(dir)), "T.jsonl")},
		} {
			body["notification_type"] = "something"
			sendHook(r, newHook(r, a.ID, "Notification", body))
			if now := r.getAgent(a.ID); now.Cwd != a.Cwd || now.StartCwd != "" || *now.TranscriptPath != *a.TranscriptPath {
				t.Errorf("%s: agent in %s with transcript %s", name, now.Cwd, *now.TranscriptPath)
			}
		}
		sendHook(r, newHook(r, a.ID, "Notification", map[string]any{"notification_type": "something", "cwd": dir, "transcript_path": in(dir)}))
		if now := r.getAgent(a.ID); now.Cwd != dir || *now.TranscriptPath != in(dir) {
			t.Errorf("its own session: agent in %s with transcript %s", now.Cwd, *now.TranscriptPath)
		}
	})
}

// TestDirectoryThatIsGoneEndsNobody: no successor could start, so the only one who can work lives on. What is mended goes on.
func TestDirectoryThatIsGoneEndsNobody(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
		away := r.work + ".away"
		mv := func(from, to string) {
			t.Helper()
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		mv(r.work, away)
		_, err := r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true})
		wantRefused(t, err, daemon.CodeBadDirectory, "put it back")
		_, err = r.client.RequestHandoff(t.Context(), a.ID, handoffs.HandoffRequest{Force: true, Keep: true})
		wantRefused(t, err, daemon.CodeBadDirectory, "put it back")
		mv(away, r.work)

		// It goes after the request.
		held, release := newHoldFile(r)
		r.sendMessage(a.ID, "@hold "+held)
		r.awaitState(a.ID, daemon.Working)
		id := r.requestHandoff(a.ID)
		mv(r.work, away)
		release()
		failed := r.awaitFailure(id, daemon.ShuttingDown, "bad_directory")
		if now := r.getAgent(a.ID); !now.Active() || now.StopAskedAt != nil || !strings.Contains(failed.Error.Message, fmt.Sprintf("Agent %d was not ended", a.ID)) {
			t.Errorf("agent %s, %q", now.State, failed.Error.Message)
		}
		_, err = r.client.RetryHandoff(t.Context(), id, "")
		wantRefused(t, err, daemon.CodeBadDirectory, "put it back")
		mv(away, r.work)
		r.retryHandoff(id)
		h := r.awaitPhase(id, daemon.Completed)
		r.wantOneLive(a.ID, h)

		// Resume.
		next := *h.SuccessorID
		stopAndAwait(r, next)
		mv(r.work, away)
		_, err = r.client.ResumeAgent(t.Context(), next)
		wantRefused(t, err, daemon.CodeBadDirectory, "put it back")
		mv(away, r.work)
		if _, err = r.client.ResumeAgent(t.Context(), next); err != nil {
			t.Error(err)
		}
	})
}

// TestStepThatCannotStartEndsNobody: the agent of the step before lives until the next one can be started.
func TestStepThatCannotStartEndsNobody(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		held, release := holdingStep(r, "developer")
		writeTemplate(r, "two", held, "reviewer")
		r.start()
		id := startPipeline(r, "two", "Mend the roof.").ID
		p := awaitPipelineThat(r, id, "an agent at work", func(p daemon.Pipeline) bool { return len(p.Steps[0].AgentIDs) == 1 })
		a := r.awaitState(p.Steps[0].AgentIDs[0], daemon.Working)
		if err := os.Rename(r.work, r.work+".away"); err != nil {
			t.Fatal(err)
		}
		release()
		failed := awaitPipeline(r, id, daemon.PipelineFailed)
		if failed.ErrorCode != daemon.CodeAgentNotStartable || !strings.Contains(*failed.Error, "that directory is gone") {
			t.Errorf("pipeline failed with %s: %s", failed.ErrorCode, *failed.Error)
		}
		if now := r.getAgent(a.ID); !now.Active() || now.StopAskedAt != nil {
			t.Errorf("agent %s, asked to stop %v", now.State, now.StopAskedAt)
		}
		if err := os.Rename(r.work+".away", r.work); err != nil {
			t.Fatal(err)
		}
		resumePipeline(r, id, false)
		awaitPipelineThat(r, id, "its end", func(p daemon.Pipeline) bool { return p.Status == daemon.PipelineDone })
		r.awaitState(a.ID, daemon.Ended)
	})
}

// TestStepsFollowASessionThatMoved: the next step works where the step before has worked, and the operator is told.
func TestStepsFollowASessionThatMoved(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		dir := filepath.Join(r.work, "x")
		writeTemplate(r, "two", "developer | prompt: Work. @move "+dir, "reviewer | prompt: Look. @say Fine.")
		r.start()
		p := awaitPipelineThat(r, startPipeline(r, "two", "Mend the roof.").ID, "its end", func(p daemon.Pipeline) bool { return p.Status == daemon.PipelineDone })
		if second := r.getAgent(p.Steps[1].AgentIDs[0]); second.Cwd != dir {
			t.Errorf("the second step worked in %s", second.Cwd)
		}
		if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "moved to "+dir) {
			t.Errorf("warnings %q", text)
		}
	})
}

// claudeUsage adds up the usage in a transcript, of each answer once.
func claudeUsage(transcript string) (sum runtimes.Tokens, answers int) {
	seen := map[string]bool{}
	for line := range strings.Lines(transcript) {
		var l struct {
			Type    string
			Message struct {
				ID    string
				Usage struct {
					Input  int64 `json:"input_tokens"`
					Write  int64 `json:"cache_creation_input_tokens"`
					Read   int64 `json:"cache_read_input_tokens"`
					Output int64 `json:"output_tokens"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "assistant" && !seen[l.Message.ID] {
			seen[l.Message.ID] = true
			u := l.Message.Usage
			sum.Add(runtimes.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.Read, CacheWrite: u.Write})
		}
	}
	return sum, len(seen)
}
