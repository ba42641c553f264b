package intake

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
)

// TestTurnIsOverWhenTheRuntimeRests: a Stop that another hook has blocked, or behind which a prompt is queued, ends no turn: the
// runtime says that it is busy. A dialog after a Stop is a sub-agent's.
func TestTurnIsOverWhenTheRuntimeRests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signs agents.RestSigns
		rests bool
	}{
		"the registry says idle":         {agents.RestSigns{Known: true, Status: runtimes.StatusIdle}, true},
		"another hook runs or has acted": {agents.RestSigns{Known: true, Status: runtimes.StatusBusy}, false},
		"a sub-agent's dialog is open":   {agents.RestSigns{Known: true, Status: runtimes.StatusWaiting}, false},
		"the registry says a new word":   {agents.RestSigns{Known: true}, true},
		"the session has moved":          {agents.RestSigns{Known: true, Status: runtimes.StatusBusy, Moved: true}, true},
		"no registry, its screen works":  {agents.RestSigns{Busy: true}, false},
		"no registry, nothing works":     {agents.RestSigns{}, true},
	} {
		equal(t, name+": rests", tt.signs.Rests(), tt.rests)
	}
}

// TestWhoMayGoOn: only the Stop of a runtime that calls hooks may be blocked by the hook of somebody else.
func TestWhoMayGoOn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"claude": true, "codex": true, "gemini": true, "opencode": false, "omp": false} {
		rt := value(catalog.For(name))(t)
		equal(t, name+": may go on", agents.MayGoOn(&rt.Can), want)
	}
}

// TestBlockedStopEndsNothing: several hooks block the Stops of one turn. Until the runtime rests, no work is done, nothing is unread
// and the agent is shown at work; the last Stop is the one whose message counts.
func TestBlockedStopEndsNothing(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.takes("UserPromptSubmit", map[string]any{"prompt": "Fix it", "prompt_id": "p"})
	for i, said := range []string{"It is fixed.", "The tests pass.", "The linter is quiet."} {
		h.takes("Stop", map[string]any{"prompt_id": "p", "last_assistant_message": said, "stop_hook_active": i > 0})
		if a := h.agent; a.State != daemon.Working || a.WorkDone() || a.TurnOver() || a.Unread || a.StopCameAt == nil {
			t.Errorf("after Stop %d: %s, work done %t, unread %t", i+1, a.State, a.WorkDone(), a.Unread)
		}
	}
	agents.GoToRest(h.daemon().Supervisor, h.agent, false)
	if a := h.agent; a.State != daemon.Idle || !a.TurnOver() || !a.Unread || a.WorkStop != h.id || a.LastMessage != "The linter is quiet." || a.StopCameAt != nil {
		t.Errorf("at rest: %s, over %t, unread %t, Stop %d of %d, said %q", a.State, a.TurnOver(), a.Unread, a.WorkStop, h.id, a.LastMessage)
	}
}

// TestPromptBehindAStop: another hook may have blocked a Stop. A prompt that says the turn of that Stop is queued in it, and the turn is not
// over; another one begins a turn. It is the same if a prompt that was queued has begun a turn of which no hook has told, and below the
// dialog of a sub-agent.
func TestPromptBehindAStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stops  []string // the turns of the Stops
		dialog bool
		prompt string
		begins bool
	}{
		{[]string{"p"}, false, "q", true}, {[]string{"p"}, false, "p", false},
		{[]string{"p", "second"}, false, "third", true}, {[]string{"p", "second"}, false, "second", false},
		{[]string{"p"}, true, "q", true}, {[]string{"p"}, true, "", true}, {[]string{"p"}, true, "p", false},
	} {
		h := hookedAgent(t)
		h.takes("UserPromptSubmit", map[string]any{"prompt": "Fix it", "prompt_id": "p"})
		if len(c.stops) > 1 {
			h.takes("UserPromptSubmit", map[string]any{"prompt": "Write the document", "prompt_id": "p"})
		}
		for _, id := range c.stops {
			h.takes("Stop", map[string]any{"prompt_id": id})
		}
		if c.dialog {
			h.agent.Be(daemon.Waiting, h.at)
		}
		h.takes("UserPromptSubmit", map[string]any{"prompt": "Test it", "prompt_id": c.prompt})
		if a := h.agent; agents.EndsTurn(a) == c.begins || c.prompt != "" && a.TurnPromptID != c.prompt || !c.dialog && a.WorkDone() {
			t.Errorf("%+v: turn %q, ends since %v, work done %t", c, a.TurnPromptID, a.StopCameAt, a.WorkDone())
		}
	}
}

// TestBlockedStopOfAHandoff: other hooks block the Stops of the turn in which a handoff's document is written. None of them ends work of
// the agent's own, and the next turn does.
func TestBlockedStopOfAHandoff(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		for _, seen := range []bool{true, false} {
			h := hookedAgent(t)
			dl := h.typed(daemon.KindInstruction, "[ref] write it")
			if told {
				h.takes("UserPromptSubmit", map[string]any{"prompt": dl.Text, "prompt_id": "p"})
			} else {
				h.agent.Be(daemon.Working, h.at)
			}
			for range 3 {
				h.takes("Stop", map[string]any{"prompt_id": "p"})
				if a := h.agent; a.WorkStop != 0 || !a.HandingOver {
					t.Errorf("told %t: Stop %d ended work, handing over %t", told, a.WorkStop, a.HandingOver)
				}
			}
			if seen {
				agents.GoToRest(h.daemon().Supervisor, h.agent, true)
				if h.agent.HandingOver {
					t.Errorf("told %t: at rest it still hands over", told)
				}
			}
			h.takes("UserPromptSubmit", map[string]any{"prompt": "<task-notification>done</task-notification>", "prompt_id": "q"})
			h.takes("Stop", map[string]any{"prompt_id": "q"})
			if a := h.agent; a.WorkStop != h.id || a.HandingOver {
				t.Errorf("told %t, seen at rest %t: the next turn ended no work, handing over %t", told, seen, a.HandingOver)
			}
		}
	}
}

// TestFailureAfterABlockedStopUndoesIt: the turn that a hook made go on has failed, so the Stop before has ended no work.
func TestFailureAfterABlockedStopUndoesIt(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.takes("UserPromptSubmit", map[string]any{"prompt": "Fix it", "prompt_id": "p"})
	h.takes("Stop", map[string]any{"prompt_id": "p", "last_assistant_message": "It is fixed."})
	h.takes("StopFailure", map[string]any{"error": "server_error"})
	if a := h.agent; a.WorkDone() || a.StopCameAt != nil || a.TurnError == "" {
		t.Errorf("work done %t, ends since %v, error %q", a.WorkDone(), a.StopCameAt, a.TurnError)
	}
}

// TestFirstAsked: of several permissions that are open, the dialog of the one that was asked first stands.
func TestFirstAsked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	list := []daemon.Permission{
		{ID: 9, State: daemon.PermissionOpen}, {ID: 7, State: daemon.PermissionOpen}, {ID: 5, State: daemon.PermissionAnswered}, {ID: 3, State: daemon.PermissionUnanswered, EndedAt: &now},
	}
	if p := sight.FirstAsked(list, 0, now.Add(time.Second)); p == nil || p.ID != 7 {
		t.Errorf("the first of four: %+v", p)
	}
	if p := sight.FirstAsked(list, 7, now.Add(time.Second)); p == nil || p.ID != 9 {
		t.Errorf("the one after it: %+v", p)
	}
	if p := sight.FirstAsked(list, 7, now.Add(-time.Second)); p == nil || p.ID != 3 {
		t.Errorf("the agent has waited since before one ended without an answer: %+v", p)
	}
}

// TestTaskNotificationLeavesADialogOpen: the prompt with which one sub-agent ends comes by itself, while the dialog of another one
// stands.
func TestTaskNotificationLeavesADialogOpen(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.agent.Runtime = "claude"
	h.takes("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}, "agent_id": "b"})
	h.takes("Stop", map[string]any{"prompt_id": "p"})
	h.takes("UserPromptSubmit", map[string]any{"prompt": "<task-notification>", "prompt_id": "q"})
	if a := h.agent; a.State != daemon.Waiting || a.WaitsFor == "" {
		t.Errorf("while the dialog stands the agent is %s for %q", a.State, a.WaitsFor)
	}
}

// openHandoffs is a database with one open handoff.
type openHandoffs struct {
	daemon.Store
	handoff daemon.Handoff
}

func (s *openHandoffs) Handoffs(context.Context, daemon.HandoffFilter) ([]daemon.Handoff, error) {
	return []daemon.Handoff{s.handoff}, nil
}

// TestHandoffIsNewerThanItsAgent: a Stop is applied between the reading of the agent and that of its handoff. The agent's row does not say
// yet that a Stop came which another hook may block, so the handoff waits for the next look.
func TestHandoffIsNewerThanItsAgent(t *testing.T) {
	t.Parallel()
	at := time.Now()
	h := daemon.Handoff{ID: 2, AgentID: 3, Phase: daemon.AwaitingDocument, StopHook: 9, PhaseAt: at}
	d := New(engine.Config{Host: "h", Store: &openHandoffs{handoff: h}, Log: slog.New(slog.DiscardHandler)})
	a := &daemon.Agent{ID: 3, Host: "h", State: daemon.Working, LastHook: 8, AgentPane: daemon.AgentPane{PID: 7}, RegisteredAt: &at}
	if moved, again, err := d.handOver(t.Context(), a); moved || again != agents.RestLook || err != nil {
		t.Errorf("moved %v, again in %s, %v", moved, again, err)
	}
}

// TestPermissionAfterABlockedStop: the agent itself asks for a permission after its Stop, so another hook has blocked that Stop, and the turn
// goes on. A sub-agent may ask below an agent that rests.
func TestPermissionAfterABlockedStop(t *testing.T) {
	t.Parallel()
	for sub, goesOn := range map[string]bool{"": true, "b": false} {
		h := hookedAgent(t)
		h.agent.Runtime = "codex"
		h.takes("UserPromptSubmit", map[string]any{"prompt": "build"})
		h.takes("Stop", map[string]any{})
		h.takes("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}, "agent_id": sub})
		if h.agent.State != daemon.Waiting || (h.agent.StopCameAt == nil) != goesOn {
			t.Errorf("sub-agent %q: %s, the Stop came at %v", sub, h.agent.State, h.agent.StopCameAt)
		}
	}
}

// TestDocumentOfATurnThatGoesOn: another hook blocks the Stop of the turn that has written a handoff's document, and the agent asks for a
// permission in that turn. The document is done when that turn is over, or when another one has begun.
func TestDocumentOfATurnThatGoesOn(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][]string{ // of the instruction's prompt, and of the turn in which the document is written
		"its own turn": {"p", "p"}, "behind a turn": {"p", "q"}, "no hook has told its prompt": {"", "p"}, "no ids": {"", ""},
	} {
		for _, interrupted := range []bool{false, true} {
			h := hookedAgent(t)
			h.handoff = &daemon.Handoff{ID: 2, AgentID: h.agent.ID, Phase: daemon.AwaitingDocument, FilePath: "/doc.md", Confirmed: true, PromptID: ids[0], PromptQueue: name == "behind a turn"}
			is := func(when string, want bool) {
				equal(t, name+", "+when+": done", agents.DocumentDone(h.agent, h.handoff), want)
			}
			h.takes("UserPromptSubmit", map[string]any{"prompt": "build", "prompt_id": ids[0]})
			is("before its Stop", false)
			stop := map[string]any{"prompt_id": ids[1]}
			h.takes("Stop", stop)
			is("after its Stop", false)
			h.takes("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}, "prompt_id": ids[1]})
			is("while it asks", false)
			h.agent.Be(daemon.Working, h.at)
			is("while it goes on", false)
			if interrupted {
				h.takes(hooks.Interrupt, map[string]any{})
			} else {
				h.takes("Stop", stop)
				is("after its next Stop", false)
				agents.GoToRest(h.daemon().Supervisor, h.agent, true)
			}
			is("at rest", true)
			h.takes("UserPromptSubmit", map[string]any{"prompt": "build more", "prompt_id": "r"})
			is("in another turn", ids[1] != "")
			equal(t, name+": the Stop is hook", h.handoff.StopHook, int64(2))
		}
	}
}

// TestHookOfATextThatTheTranscriptHasShown: a text of ours is found in the transcript before its hook comes, so no delivery is open any more.
// The hook gives the agent no work of its own, and the turn of an instruction still writes the document.
func TestHookOfATextThatTheTranscriptHasShown(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{"handoff_a_b_1": true, "handoff_a_b_2": false, "skill_a_1": false} {
		h := hookedAgent(t)
		h.handoff = &daemon.Handoff{ID: 2, AgentID: h.agent.ID, Phase: daemon.AwaitingDocument, Ref: "handoff_a_b_1"}
		h.takes("UserPromptSubmit", map[string]any{"prompt": "[" + ref + "] understudy: write", "prompt_id": "p"})
		if a := h.agent; a.LastPrompt != 0 || a.LastPromptAt != nil || a.HandingOver != want || a.State != daemon.Working {
			t.Errorf("%s: last prompt %d, handing over %t, %s", ref, a.LastPrompt, a.HandingOver, a.State)
		}
	}
}

// TestTwinOfAnAnsweredStop: a runtime runs the hook of a Stop twice, which goes on because another hook has blocked an earlier one. One run is
// answered with the instruction; the other comes out of the spool to the next daemon. It is not the Stop of the instruction's turn.
func TestTwinOfAnAnsweredStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		want  bool
	}{"the same Stop": {-time.Second, false}, "the next one": {time.Minute, true}} {
		h := hookedAgent(t)
		h.id, h.at, h.replayed = 8, time.Now().Add(-time.Hour), true
		typed := h.at.Add(time.Minute - c.after)
		dl := &daemon.Delivery{ID: 4, AgentID: h.agent.ID, Kind: daemon.KindInstruction, State: daemon.DeliveryAnswered, HookKey: "other", TypedAt: &typed, AfterHook: 8, Nonce: "ref"}
		id := dl.ID
		h.handoff = &daemon.Handoff{ID: 2, AgentID: h.agent.ID, Phase: daemon.Instructing, Ref: "ref", DeliveryID: &id}
		h.deliveries = []*daemon.Delivery{dl}
		h.takes("Stop", map[string]any{"prompt_id": "p", "stop_hook_active": true})
		equal(t, name+": submitted", dl.Has(daemon.Submitted), c.want)
	}
}
