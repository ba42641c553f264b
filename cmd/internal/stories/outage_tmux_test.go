package stories

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestTmuxServerEndsDuringAHandoff: before the record the handoff fails, because the agent has ended with its tmux server. A
// person can write the document, and the handoff goes on without the agent. After the record a retry starts another successor.
func TestTmuxServerEndsDuringAHandoff(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		b := &bomb{act: func(crashPoint, string) { r.killTmux() }}
		r.cfg.Around = b.around
		r.start()
		a := r.startAgent(con)
		b.set(crashPoint{"paste", true, 1}) // the instruction
		r.misbehave("think=1m")
		h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Failed)
		if h.Error.Code != "agent_gone" || h.RecordedAt != nil {
			t.Errorf("handoff failed with %+v, want agent_gone before the record", h.Error)
		}
		r.writeDocument(h)
		r.misbehave("")
		r.retryHandoff(h.ID)
		a = r.awaitTakeover(r.awaitPhase(h.ID, daemon.Completed))
		r.awaitState(a.ID, daemon.Idle)

		b.set(crashPoint{"paste", false, 3}) // They are the instruction, /exit and the injection prompt.
		h = r.awaitPhase(r.requestHandoff(a.ID), daemon.Failed)
		if h.Error.Code != "successor_gone" || h.RecordedAt == nil {
			t.Errorf("handoff failed with %+v, want successor_gone after the record", h.Error)
		}
		first := *h.SuccessorID
		r.retryHandoff(h.ID)
		if h = r.awaitPhase(h.ID, daemon.Completed); *h.SuccessorID == first {
			t.Errorf("successor is still agent %d, which is gone", first)
		}
		r.wantTold(*h.SuccessorID, h.Ref)
	})
}

// TestMistakeInTheUsersTmuxFile: it shows when the server begins. The operator is told what to do, and the agent works.
func TestMistakeInTheUsersTmuxFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(r.work, "tmux.conf")
	r.writeFile(file, "set -g no-such-option 1\n")
	r.cfg.Settings.Tmux.Include = file
	r.start()
	r.startAgent(con)
	told := r.awaitNotification(func(e event.Event) bool {
		text, _ := field(t, e, "message").(string)
		return strings.Contains(text, "tmux.include: ") && strings.Contains(text, "no-such-option") && strings.Contains(text, "source-file "+file)
	})
	if r.awaitAlertEvent("settings_refused"); told.ID == 0 {
		t.Error("nobody was told")
	}
}

// TestOneAlertForATmuxServer: Agents, a handoff and a pipeline end with the tmux server. The operator is told once,
// by the daemon that comes after the one that saw it. Each of them still has its row and its event.
func TestOneAlertForATmuxServer(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.writeTemplate("held", "developer | prompt: Work. @hold nowhere")
		r.start()
		var agents []int64
		for range 3 {
			agents = append(agents, r.startWorked("").ID)
		}
		run := r.startPipeline("held", roof)
		agents = append(agents, r.awaitWorkingAgent(run.ID, 1).ID)
		r.misbehave("think=1h")
		out := r.startAgent(con)
		agents = append(agents, out.ID)
		h := r.awaitPhase(r.requestHandoff(out.ID), daemon.AwaitingDocument)
		r.killTmux()
		for _, id := range agents {
			if a := r.awaitState(id, daemon.Ended); *a.EndReason != "tmux_server_gone" {
				t.Errorf("agent %d ended by %s", id, *a.EndReason)
			}
		}
		r.halt()
		r.start()
		r.awaitPipeline(run.ID, daemon.PipelineFailed)
		if h := r.awaitPhase(h.ID, daemon.Failed); h.Error.Code != "agent_gone" {
			t.Errorf("handoff failed by %s", h.Error.Code)
		}
		message := fmt.Sprint(field(t, r.awaitNotification(func(event.Event) bool { return true }), "message"))
		for _, want := range []string{
			"The tmux server at " + out.PaneSocket + " has ended, and 5 agents with it: ",
			fmt.Sprintf("pipeline %d)", run.ID), fmt.Sprintf("handoff %d)", h.ID),
			fmt.Sprintf("Pipeline %d failed by it: `understudy pipeline resume ID`", run.ID), fmt.Sprintf("Handoff %d failed by it, before its record", h.ID),
			"Open sessions again: agent ", "`understudy agent resume --all`", "The next agent gets a new server.",
		} {
			if !strings.Contains(message, want) {
				t.Errorf("the operator was told %q, want %q in it", message, want)
			}
		}
		for _, id := range agents {
			if n := len(r.agentEvents(id, "agent_ended")); n != 1 {
				t.Errorf("agent %d has ended %d times", id, n)
			}
		}
		r.misbehave("")
		r.startAgent(con) // It starts on a new server.
		if told := r.messages("operator_notified"); len(told) != 1 {
			t.Errorf("the operator was told %d times: %q", len(told), told)
		}
	})
}
