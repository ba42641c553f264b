package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

const (
	con        = "developer-con-1"
	instructed = "hand over your work" // in each instruction
)

// abortPipeline aborts a pipeline and checks the answer, which is the pipeline.
func (r *rig) abortPipeline(id int64, steps string) daemon.Pipeline {
	r.t.Helper()
	p, err := r.client.AbortPipeline(r.t.Context(), id)
	if err != nil {
		r.t.Fatalf("abort: %v", err)
	}
	r.wantAborted(p, steps)
	return p
}

// approvePipeline waits until the pipeline waits for approval, and approves it.
func (r *rig) approvePipeline(id int64, comment string) daemon.Pipeline {
	r.t.Helper()
	r.awaitPipeline(id, daemon.PipelineWaiting)
	p, err := r.client.ApprovePipeline(r.t.Context(), id, daemon.Decision{Comment: comment})
	if err != nil {
		r.t.Fatalf("approve: %v", err)
	}
	return p
}

// awaitSkill waits until the persona's skill contains the part, and returns the skill.
func (r *rig) awaitSkill(slug, part string) (skill string) {
	r.t.Helper()
	r.await("skill of "+slug, func() (bool, string) {
		full, err := r.client.Persona(r.t.Context(), slug)
		skill = full.Skill
		return err == nil && strings.Contains(skill, part), fmt.Sprintf("%q %v", skill, err)
	})
	return skill
}

// startForeignAgent has a person start an agent on a tmux server of their own, with our hooks installed.
func (r *rig) startForeignAgent(server *tmux.Server, args string) (daemon.Agent, tmux.PaneInfo) {
	r.t.Helper()
	home := filepath.Join(filepath.Dir(r.root), "home")
	plan, err := hooks.PlanInstall(nil, hooks.InstallOptions{
		Bin: r.cfg.HookBinary, DataDir: r.root, Events: hooks.KnownEvents("2.1.329 (Claude Code)"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := data.WriteFile(filepath.Join(home, ".claude", "settings.json"), plan.After, 0o600); err != nil {
		r.t.Fatal(err)
	}
	shell, err := server.Spawn(r.t.Context(), tmux.Spec{
		Session: "person", Dir: r.work, Argv: append(append([]string{"env"}, r.cfg.Environ...), "sh"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	line := cmdtest.AgentProgram(r.t) + " " + args
	if err := server.Paste(r.t.Context(), shell.Ref, line, tmux.PasteOptions{After: []tmux.Key{tmux.Enter}}); err != nil {
		r.t.Fatal(err)
	}
	r.await("agent that registers by itself", func() (bool, string) {
		list, err := r.client.Agents(context.Background(), allRows)
		return err == nil && len(list) > 0, ""
	})
	return r.newestAgent(), shell
}

// holdingStep returns a step for a template. Its agent's turn goes on until release is called.
func (r *rig) holdingStep(agent string) (step string, release func()) {
	r.t.Helper()
	file, release := r.newHoldFile()
	return agent + " | prompt: Work. @hold " + file, release
}

// limitPipelines sets how many pipelines may be at work at once.
func (r *rig) limitPipelines(n int) *rig {
	r.cfg.Settings.Pipeline.MaxRunning = n
	return r
}

// newestAgent is the agent that was created last.
func (r *rig) newestAgent() daemon.Agent {
	r.t.Helper()
	list, err := r.client.Agents(r.t.Context(), allRows)
	if err != nil || len(list) == 0 {
		r.t.Fatalf("agents: %v, %v", list, err)
	}
	return list[0]
}

// noteBusyPart is part of the note of a handoff whose agent is in a turn.
const noteBusyPart = "the agent is in a turn"

const ownWork = "deploy it @ask" // what a person types meanwhile; it opens a dialog

// resumePipeline resumes a failed pipeline.
func (r *rig) resumePipeline(id int64, skip bool) daemon.Pipeline {
	r.t.Helper()
	p, err := r.client.ResumePipeline(r.t.Context(), id, skip)
	if err != nil {
		r.t.Fatalf("resume: %v", err)
	}
	return p
}

// roof is a request whose steps leave structured fields, so that the next step is told what the template asks of it.
const roof = "Mend the roof. @say ## What Was Done\n\nThe roof is mended.\n"

func (r *rig) spoolHooks(list ...hooks.Envelope) {
	r.t.Helper()
	for _, env := range list {
		if err := hooks.OpenSpool(r.dir.Spool()).Put(env); err != nil {
			r.t.Fatal(err)
		}
	}
}

// wantAtMostLive fails if more agents of pipelines than the limit ever lived at once. It reads the event log, whose order
// is that of the commits.
func (r *rig) wantAtMostLive(limit int) {
	r.t.Helper()
	live := map[int64]bool{}
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.PipelineID != nil && e.AgentID != nil }) {
		switch e.Type {
		case "agent_created":
			live[*e.AgentID] = true
		case "agent_ended", "agent_failed":
			delete(live, *e.AgentID)
		}
		if len(live) > limit {
			r.t.Errorf("event %d: agents %v live at once, at most %d may", e.ID, live, limit)
		}
	}
}

// wantComposer fails unless the agent's composer holds exactly this text.
func (r *rig) wantComposer(agentID int64, draft string) {
	r.t.Helper()
	if s := runtimes.Claude().ReadScreen(r.shown(agentID)); s.Draft != draft {
		r.t.Errorf("composer of agent %d holds %q, want %q", agentID, s.Draft, draft)
	}
}

// wantInterrupted waits until the agent ends, and fails unless its turn was interrupted first.
func (r *rig) wantInterrupted(agentID int64) {
	r.t.Helper()
	r.awaitState(agentID, daemon.Ended)
	r.wantStopStages(agentID, daemon.StopBreak, daemon.StopAsked)
	for _, e := range r.transcript(agentID) {
		if strings.Contains(fmt.Sprint(e.Message.Content), "[Request interrupted by user]") {
			return
		}
	}
	r.t.Errorf("agent %d was not interrupted in its turn: %+v", agentID, r.transcript(agentID))
}

// wantNoFile fails if anything exists at the path.
func wantNoFile(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

// wantNoPanes waits until the rig's tmux server has no pane.
func (r *rig) wantNoPanes() {
	r.t.Helper()
	r.await("the end of all panes", func() (bool, string) {
		panes, err := r.tmux.List(r.t.Context())
		return err == nil && len(panes) == 0, fmt.Sprintf("%+v %v", panes, err)
	})
}

// wantWaitsForRoom fails unless the pipeline is pending and its note says that it waits for room.
func (r *rig) wantWaitsForRoom(p daemon.Pipeline) {
	r.t.Helper()
	if p.Status != daemon.PipelinePending || !strings.Contains(p.Note, "pipeline.max_running") {
		r.t.Errorf("pipeline %d is %s with the note %q, want it pending for lack of room", p.ID, p.Status, p.Note)
	}
}

// wantOneAgentPerStep fails unless each step that was not skipped is done, had one agent that was told one text, and left
// one output.
func (r *rig) wantOneAgentPerStep(p daemon.Pipeline) {
	r.t.Helper()
	for i, s := range p.Steps {
		if s.Status == daemon.StepSkipped {
			continue
		}
		if len(s.AgentIDs) != 1 || s.Status != daemon.StepDone || s.LatestHandoff == nil || len(r.told(s.AgentIDs[0])) != 1 {
			r.t.Errorf("pipeline %d: step %d is %s with the agents %v and left %+v; want what one agent left that was told once\n%s",
				p.ID, i+1, s.Status, s.AgentIDs, s.LatestHandoff, r.report())
		}
	}
}

// wantOnlyPrompt fails unless the agent was told only this text, and only its exit command was typed.
func (r *rig) wantOnlyPrompt(agentID int64, want string) {
	r.t.Helper()
	if got := r.told(agentID); len(got) != 1 || got[0] != want {
		r.t.Errorf("agent %d was told %.2000q, want %.2000q", agentID, got, want)
	}
	r.awaitState(agentID, daemon.Ended)
	r.wantKinds(agentID, daemon.KindExit)
}

// wantPipelineEvents fails unless the pipeline has this many events of a type.
func (r *rig) wantPipelineEvents(id int64, typ string, want int) {
	r.t.Helper()
	if got := r.pipelineEvents(id, typ); len(got) != want {
		r.t.Errorf("pipeline %d has %d events %s, want %d\n%s", id, len(got), typ, want, r.report())
	}
}

func (r *rig) wantStopStages(agentID int64, want ...daemon.StopStage) {
	r.t.Helper()
	got := r.stopStages(agentID)
	if !slices.EqualFunc(got, want, func(g string, w daemon.StopStage) bool { return g == string(w) }) {
		r.t.Errorf("agent %d was stopped by %v, want %v", agentID, got, want)
	}
}

// stopStages lists the rungs of the stop ladder that the daemon has used on the agent.
func (r *rig) stopStages(agentID int64) []string {
	r.t.Helper()
	var out []string
	for _, e := range r.agentEvents(agentID, "agent_stopping") {
		stage, _ := field(r.t, e, "stage").(string)
		out = append(out, stage)
	}
	return out
}

// wantAborted fails unless the pipeline is aborted, with its running step, and its steps have these statuses.
func (r *rig) wantAborted(p daemon.Pipeline, steps string) {
	r.t.Helper()
	if p.Status != daemon.PipelineFailed || said(p.Error) != "Pipeline aborted" || p.FinishedAt == nil || p.CurrentAgentID != nil {
		r.t.Errorf("aborted, pipeline %d is %s with %q and agent %v", p.ID, p.Status, said(p.Error), p.CurrentAgentID)
	}
	if want := fmt.Sprintf("understudy pipeline resume %d", p.ID); !strings.Contains(p.Hint, want) {
		r.t.Errorf("hint %q does not name `%s`", p.Hint, want)
	}
	r.wantSteps(p, steps)
	for i, s := range p.Steps {
		if s.Status == daemon.StepFailed && (said(s.Error) != "Pipeline aborted" || s.FinishedAt == nil) {
			r.t.Errorf("step %d failed with %q at %v", i+1, said(s.Error), s.FinishedAt)
		}
	}
}

// systemPrompt is the agent's system prompt: what it knew before its first prompt.
func (r *rig) systemPrompt(agentID int64) string {
	r.t.Helper()
	for _, e := range r.transcript(agentID) {
		if text, ok := e.Content.(string); ok && e.Subtype == "append_system_prompt" {
			return text
		}
	}
	r.t.Fatalf("agent %d has no system prompt", agentID)
	return ""
}

// twoHosts makes two rigs with one database, each with a host of its own.
func twoHosts(t *testing.T) (north, south *rig) {
	north, south = newRig(t), newRig(t)
	north.cfg.Host, south.cfg.Host = "north", "south"
	south.cfg.Settings.DatabaseURL = north.cfg.Settings.DatabaseURL
	return north, south
}

// cancelHandoff cancels the agent's handoff. It checks that the answer says so, with the phase in which it was.
func (r *rig) cancelHandoff(agentID int64, in daemon.Phase) daemon.Handoff {
	r.t.Helper()
	h, err := r.client.CancelHandoff(r.t.Context(), agentID, 0)
	if err != nil {
		r.t.Fatalf("cancel: %v", err)
	}
	if h.Status != daemon.StatusCancelled || h.Error == nil || h.Error.Message != "Handoff cancelled" || h.Error.Phase != in || h.CompletedAt == nil {
		r.t.Errorf("cancelled handoff %s %+v, want `Handoff cancelled` in %s", h.Status, h.Error, in)
	}
	return h
}

// answers lists what the agent said, oldest first.
func (r *rig) answers(agentID int64) []string {
	r.t.Helper()
	var out []string
	for _, e := range r.transcript(agentID) {
		blocks, _ := e.Message.Content.([]any)
		for _, b := range blocks {
			if block, _ := b.(map[string]any); e.Type == "assistant" && block["type"] == "text" {
				out = append(out, fmt.Sprint(block["text"]))
			}
		}
	}
	return out
}

// wantCompactions fails unless the agent has compacted its context this many times.
func (r *rig) wantCompactions(agentID int64, want int) {
	r.t.Helper()
	n := 0
	for _, e := range r.transcript(agentID) {
		if e.Subtype == "compact_boundary" {
			n++
		}
	}
	if n != want {
		r.t.Errorf("agent %d has compacted %d times, want %d", agentID, n, want)
	}
}
