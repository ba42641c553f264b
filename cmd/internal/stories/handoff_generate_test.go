package stories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/tmux"
)

const forkNote = "the document is being generated"

// TestGenerateLeavesTheAgentAlone: A fork of the session writes the document. Until the agent is asked to exit, the
// daemon touches neither its pane nor its transcript. The successor takes over as in the other mode.
func TestGenerateLeavesTheAgentAlone(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.start()
		a := r.startSpokenTo()
		before := r.readFile(*a.TranscriptPath)
		const focus = "Focus on the parser,\nnot on the printer."
		h := r.awaitPhase(r.requestGenerate(a.ID, focus), daemon.Completed)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
		if after := r.readFile(*a.TranscriptPath); after != before {
			t.Errorf("transcript\n   was %s\nand is %s", before, after)
		}
		if h.Mode != daemon.ModeGenerate || h.Focus != focus || h.Structured == nil || h.Status != daemon.StatusCompleted || len(h.Warnings) > 0 || !h.ContextValidated {
			t.Errorf("handoff %+v: want a structured one, without warnings", h)
		}
		doc := r.readFile(h.FilePath)
		for _, part := range []string{"# Handoff from ", "## What Was Done\n", "Find out why the tests are slow", "\n## Current Story\n"} {
			if !strings.Contains(doc, part) {
				t.Errorf("document has no %q:\n%s", part, doc)
			}
		}
		asked := f.prompts()
		if len(asked) != 1 {
			t.Fatalf("forks were asked %q, want one fork", asked)
		}
		for _, part := range []string{h.Ref, "**## What Was Done**", "**## Current Story**", "**## Architecture Decisions**", "**## Code Patterns**", "Focus on this:\n\n" + focus} {
			if !strings.Contains(asked[0], part) {
				t.Errorf("prompt %q does not have %q", asked[0], part)
			}
		}
		var got []string
		for _, typ := range r.types(h.ID) {
			if strings.HasPrefix(typ, "handoff_") && typ != "handoff_waiting" && typ != "handoff_read" { // the successor reads meanwhile
				got = append(got, strings.TrimPrefix(typ, "handoff_"))
			}
		}
		want := "started generating verifying created recorded shutting_down spawning awaiting_registration injecting_skill briefing completed"
		if strings.Join(got, " ") != want {
			t.Errorf("events\n got %v\nwant %s", got, want)
		}
		if _, ok := h.Metrics.Phases[daemon.Generating]; !ok {
			t.Errorf("metrics %+v do not count the generation", h.Metrics)
		}
		r.wantTold(*h.SuccessorID, h.Ref)
		r.wantTold(a.ID, "Find out why")
	})
}

// TestGenerateJoinsBlocksAndRefusesTools: The fork may use no tool before it answers.
func TestGenerateJoinsBlocksAndRefusesTools(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startSpokenTo()
		r.misbehave("fork-blocks,fork-tool")
		h := r.awaitPhase(r.requestGenerate(a.ID, ""), daemon.Completed)
		doc := r.readFile(h.FilePath)
		if !strings.HasPrefix(doc, "# Handoff from ") || !strings.Contains(doc, ".\n\n## Code Patterns\n") || !strings.HasSuffix(doc, ".\n") || strings.HasSuffix(doc, "\n\n") {
			t.Errorf("document is not the two blocks, joined by a newline:\n%q", doc)
		}
		if strings.Contains(doc, "note something first") {
			t.Errorf("document has what was said before the tool call:\n%s", doc)
		}
		if _, err := os.Stat(filepath.Join(r.work, "fork-tool-ran")); !os.IsNotExist(err) {
			t.Errorf("the fork's tool call was not refused: %v", err)
		}
	})
}

// TestFailedGenerationCanBeRetried: The failure is given in the fork's own words. The agent stays as it was, and a
// retry asks another fork.
func TestFailedGenerationCanBeRetried(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]struct{ code, message string }{
		"fork-empty":     {"generation_empty", "Handoff failed: generation produced no content"},
		"blank-document": {"generation_empty", "Handoff failed: generation produced no content"},
		"fork-error":     {"generation_failed", "Handoff failed: API Error: 529 overloaded"},
		"fork-hang":      {"document_timeout", "Handoff failed: the document was not generated in time (document_timeout 2s)"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				r.cfg.Settings.Handoff.DocumentTimeout = 2 * time.Second
				f, traces := r.recordForks(), r.recordForkPIDs()
				r.start()
				a := r.startSpokenTo()
				r.misbehave(behaviour)
				id := r.requestGenerate(a.ID, "")
				var pids []int
				if behaviour == "fork-hang" {
					pids = r.awaitFork(traces)
				}
				h := r.awaitGenerationFailure(id, want.code, want.message)
				r.wantEndedWithin(2*time.Second, pids...)
				if _, err := os.Stat(h.FilePath); !os.IsNotExist(err) {
					t.Errorf("document: %v, want none", err)
				}
				if now := r.getAgent(a.ID); now.State != daemon.Idle || now.EndedAt != nil {
					t.Errorf("agent is %s, want it alive and idle", now.State)
				}
				r.wantKinds(a.ID, daemon.KindMessage)

				r.misbehave("")
				r.retryHandoff(id)
				r.awaitPhase(id, daemon.Completed)
				if n := len(f.prompts()); n != 2 {
					t.Errorf("%d forks, want 2", n)
				}
			})
		})
	}
}

// TestRetryMaySwitchModeUntilTheRecord: A retry may ask the agent itself after a failed generation. After the record,
// the mode cannot change.
func TestRetryMaySwitchModeUntilTheRecord(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.cfg.Settings.Handoff.RegistrationTimeout = 3 * time.Second
		r.start()
		a := r.startSpokenTo()
		r.misbehave("fork-empty")
		id := r.requestGenerate(a.ID, "")
		r.awaitGenerationFailure(id, "generation_empty", "Handoff failed: generation produced no content")
		r.misbehave("no-session-start")
		r.retryHandoffIn(id, daemon.ModeAgent)
		h := r.awaitFailure(id, daemon.AwaitingRegistration, "registration_timeout")
		if h.Mode != daemon.ModeAgent || h.RecordedAt == nil {
			t.Errorf("handoff %+v: want it recorded, in mode agent", h)
		}
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindInstruction, daemon.KindExit)
		_, err := r.client.RetryHandoff(t.Context(), id, daemon.ModeGenerate)
		wantCode(t, err, "handoff_recorded")
		if now := r.getHandoff(id); now.Phase != daemon.Failed || now.Mode != daemon.ModeAgent {
			t.Errorf("handoff is %s in mode %s after a retry that was refused", now.Phase, now.Mode)
		}
		r.misbehave("")
		r.stopAgent(*h.SuccessorID, true)
		r.awaitState(*h.SuccessorID, daemon.Ended)
		if _, err := r.client.RetryHandoff(t.Context(), id, daemon.ModeAgent); err != nil {
			t.Errorf("retry in the mode that it has: %v", err)
		}
		r.awaitPhase(id, daemon.Completed)
	})
}

// TestCancelEndsTheForkAtOnce: A cancel ends the fork at once, with every process that it started, whichever daemon
// on the database is asked. The agent does not notice it.
func TestCancelEndsTheForkAtOnce(t *testing.T) {
	storyOfTwo(t, func(t *testing.T, r, other *rig) {
		traces := r.recordForkPIDs()
		r.start()
		a := r.startSpokenTo()
		before := r.readFile(*a.TranscriptPath)
		other.start()
		for _, from := range []*rig{r, other} {
			r.misbehave("fork-hang,fork-child")
			id := r.requestGenerate(a.ID, "")
			pids := r.awaitFork(traces)
			if len(pids) != 2 || !r.alive(pids[0]) || !r.alive(pids[1]) {
				t.Fatalf("processes %v, want two that run", pids)
			}
			r.awaitNote(id, forkNote)
			h := from.cancelHandoff(a.ID, daemon.Generating)
			r.wantEndedWithin(2*time.Second, pids...)
			if h.ID != id || len(r.handoffEvents(id, "handoff_cancelled")) != 1 || len(r.handoffEvents(id, "handoff_failed")) != 0 {
				t.Errorf("cancelled %+v: want one event", h)
			}
			if now := r.getHandoff(id); now.Status != daemon.StatusCancelled || now.Error.Message != "Handoff cancelled" {
				t.Errorf("handoff %s %+v after its fork has ended", now.Status, now.Error)
			}
		}
		if now := r.getAgent(a.ID); now.State != daemon.Idle || r.readFile(*a.TranscriptPath) != before {
			t.Errorf("agent %+v: want it untouched", now)
		}
		r.misbehave("")
		r.awaitPhase(r.requestGenerate(a.ID, ""), daemon.Completed)
		r.wantKinds(a.ID, daemon.KindMessage, daemon.KindExit)
	})
}

// TestGenerateForksAfterTheRunningTurn: The document contains what that turn has done.
func TestGenerateForksAfterTheRunningTurn(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.cfg.Settings.Handoff.BusyTimeout = 3 * time.Second
		r.start()
		a := r.startSpokenTo()
		release := r.holdTurn(a.ID, "endless work")
		id := r.requestGenerate(a.ID, "")
		h := r.awaitNote(id, noteBusyPart)
		if h.Phase != daemon.Generating || strings.Contains(h.Note, "instruction") {
			t.Errorf("handoff is %s with note %q, want a note about the turn, not about an instruction", h.Phase, h.Note)
		}
		h = r.awaitPhase(id, daemon.Failed)
		if h.Error.Code != "busy_timeout" || !strings.HasPrefix(h.Error.Message, "Handoff failed: the agent was not idle within 3s: "+noteBusyPart) {
			t.Errorf("failure %+v, want busy_timeout", h.Error)
		}
		r.retryHandoff(id)
		r.awaitNote(id, noteBusyPart)
		if n := len(f.prompts()); n != 0 {
			t.Errorf("%d forks while a turn runs", n)
		}
		release()
		h = r.awaitPhase(id, daemon.Completed)
		if doc := r.readFile(h.FilePath); !strings.Contains(doc, "endless work") || len(f.prompts()) != 1 {
			t.Errorf("%d forks, document\n%s", len(f.prompts()), doc)
		}
	})
}

// TestGenerateForksAgainAfterNewWork: Work that comes while the fork runs is not lost. The fork ends at once, and
// another begins when that work is done.
func TestGenerateForksAgainAfterNewWork(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f, traces := r.recordForks(), r.recordForkPIDs()
		r.start()
		a := r.startSpokenTo()
		r.misbehave("fork-hang,fork-child")
		id := r.requestGenerate(a.ID, "")
		pids := r.awaitFork(traces)
		release := r.holdTurn(a.ID, "and translate the docs")
		r.wantEndedWithin(3*time.Second, pids...)
		r.awaitNote(id, noteBusyPart)
		r.misbehave("")
		if n := len(f.prompts()); n != 1 {
			t.Errorf("%d forks, want the one that was ended", n)
		}
		release()
		h := r.awaitPhase(id, daemon.Completed)
		if doc := r.readFile(h.FilePath); !strings.Contains(doc, "translate the docs") || len(f.prompts()) != 2 {
			t.Errorf("%d forks, document without the new work?\n%s", len(f.prompts()), doc)
		}
		if old := r.awaitState(a.ID, daemon.Ended); old.EndReason == nil || *old.EndReason != "prompt_input_exit" {
			t.Errorf("outgoing agent ended by %v", old.EndReason)
		}
	})
}

// TestGenerateWaitsForBackgroundTasks: The fork waits for background tasks, and for the turn in which the agent is
// told of their end.
func TestGenerateWaitsForBackgroundTasks(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.cfg.Settings.Handoff.Background = string(daemon.BackgroundWait)
		r.start()
		a := r.startAgent(con)
		release := r.holdTurn(a.ID, "@background")
		r.awaitState(a.ID, daemon.Idle)
		id := r.requestGenerate(a.ID, "")
		if h := r.awaitNote(id, "background tasks"); h.Phase != daemon.Generating {
			t.Errorf("phase %s, want generating", h.Phase)
		}
		if n := len(f.prompts()); n != 0 {
			t.Errorf("%d forks while a task runs", n)
		}
		release()
		r.awaitPhase(id, daemon.Completed)
		r.wantTold(a.ID, "@background", "<task-notification>")
		if n := len(f.prompts()); n != 1 {
			t.Errorf("%d forks, want 1", n)
		}
	})
}

// TestGenerateWaitsForQueuedPrompts: A prompt that was queued behind the running turn is work too. Its turn begins
// with the Stop of the previous turn, at which the session must not be forked.
func TestGenerateWaitsForQueuedPrompts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		f := r.recordForks()
		r.start()
		a := r.startSpokenTo()
		release := r.holdTurn(a.ID, "long work")
		id := r.requestGenerate(a.ID, "")
		r.awaitNote(id, noteBusyPart)
		file := filepath.Join(filepath.Dir(r.root), "measured")
		r.personTypes(a.ID, "and measure it @hold "+file, tmux.Enter)
		r.awaitShown(a.ID, "Queued: and measure it")
		release()
		// No hook reports the second turn, so the agent is at work until it rests.
		r.awaitRow(a.ID, "the end of the first turn", func(a daemon.Agent) bool { return a.StopCameAt != nil })
		if h := r.getHandoff(id); h.Phase != daemon.Generating || len(f.prompts()) != 0 {
			t.Errorf("%s, %d forks while the second turn runs", h.Phase, len(f.prompts()))
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r.awaitPhase(id, daemon.Completed)
		if n := len(f.prompts()); n != 1 {
			t.Errorf("%d forks, want 1", n)
		}
	})
}

// TestGenerateGoesOnAfterTheAgentsEnd: A session can be forked after its agent has ended, so the end stops nothing:
// neither while the fork runs nor before it begins.
func TestGenerateGoesOnAfterTheAgentsEnd(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(map[bool]string{true: "while the fork runs", false: "before it begins"}[running], func(t *testing.T) {
			story(t, func(t *testing.T, r *rig) {
				f, traces := r.recordForks(), r.recordForkPIDs()
				r.start()
				a := r.startSpokenTo()
				id := int64(0)
				if running {
					r.misbehave("fork-hang=2s")
					id = r.requestGenerate(a.ID, "")
					r.awaitFork(traces)
				} else {
					r.holdTurn(a.ID, "endless work")
					id = r.requestGenerate(a.ID, "")
					r.awaitNote(id, noteBusyPart)
				}
				r.killAgent(a.ID)
				r.awaitState(a.ID, daemon.Ended)
				h := r.awaitPhase(id, daemon.Completed)
				if doc := r.readFile(h.FilePath); !strings.Contains(doc, "tests are slow") || len(f.prompts()) != 1 {
					t.Errorf("%d forks, document\n%s", len(f.prompts()), doc)
				}
				r.wantTold(*h.SuccessorID, h.Ref)
				if running {
					return
				}
				home := filepath.Join(filepath.Dir(r.root), "home", ".claude")
				if env := f.jobs[0].Env; !slices.Contains(env, "CLAUDE_CONFIG_DIR="+home) {
					t.Errorf("environment %q: want the directory of the agent's sessions", env)
				}
			})
		})
	}
}
