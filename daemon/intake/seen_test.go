package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// finishes lets the agent take a prompt and end the turn, and returns the notices of the end.
func (h *hooked) finishes(asked, said string, tasks int) (notices []*event.Event) {
	h.t.Helper()
	h.takes("UserPromptSubmit", map[string]any{"prompt": asked, "prompt_id": "p"})
	if h.agent.Unread {
		h.t.Error("the agent is unread although it has just been asked for something")
	}
	running := make([]map[string]any, tasks)
	h.takes("Stop", map[string]any{"last_assistant_message": said, "background_tasks": running})
	if h.agent.Unread && h.agent.FinishedAt.Equal(h.at) {
		h.t.Error("the agent has finished at its Stop, which another hook may have blocked")
	}
	for _, e := range agents.GoToRest(h.daemon().Supervisor, h.agent, false) {
		if e.Notice != event.NoticeNone {
			notices = append(notices, e)
		}
	}
	return notices
}

// TestFinishedTurnIsUnread: a turn of the agent's own work that has ended is unread until the next prompt. It is a notice only
// where somebody wants that.
func TestFinishedTurnIsUnread(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	equal(t, "notices that nobody wants", len(h.finishes("Fix\nthe cart", "It is fixed.", 0)), 0)
	if a := h.agent; !a.Unread || a.FinishedAt == nil || !a.FinishedAt.Equal(h.at) || a.Asked != "Fix the cart" || a.LastMessage != "It is fixed." {
		t.Errorf("after its turn: unread %t since %v, asked %q, said %q", a.Unread, a.FinishedAt, a.Asked, a.LastMessage)
	}
	h.agent.NotifyFinished = "on"
	notices := h.finishes("Test it", "All green.", 0)
	if len(notices) != 1 || notices[0].Type != event.AgentFinished || notices[0].Notice != event.NoticeFinished ||
		!strings.Contains(string(notices[0].Payload), "Agent 3 (con) has finished its turn ‹All green.›: `understudy agent show 3`.") {
		t.Errorf("notices: %+v", notices)
	}
	if h.finishes("Watch it", "I watch.", 1); h.agent.Unread {
		t.Error("unread while a background task runs")
	}
	h.agent.PipelineID = &h.id
	if notices := h.finishes("Step 1", "Done.", 0); h.agent.Unread || len(notices) != 0 {
		t.Error("the step of a pipeline is unread")
	}
}

// TestLateReminderOfADialog: a Notification about a dialog that comes right after the answer to the permission is about that dialog.
// Later it is about another one.
func TestLateReminderOfADialog(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]daemon.AgentState{300 * time.Millisecond: daemon.Working, sight.Reminded: daemon.Waiting} {
		d, now := New(engine.Config{Host: "h"}), time.Date(2031, 5, 4, 3, 0, 0, 0, time.UTC)
		sight.NoteAnswered(d.Sight, 3, now)
		a := &daemon.Agent{ID: 3, State: daemon.Working, StateAt: now, RegisteredAt: &now}
		p := value(hooks.Parse(hooks.Notification, []byte(`{"notification_type":"permission_prompt","message":"Claude needs your permission"}`)))(t)
		answered := engine.Question{Answered: a.ID}
		step := hookStep{Facts: *d.Facts(), p: p, in: daemon.HookInput{Key: "k", At: now.Add(after)}, tx: daemon.HookTx{HookID: 1, Agent: a}}
		step.Answers[answered] = lookFor(t.Context(), d, tmux.Process{}, answered)
		if step.decide(); a.State != want {
			t.Errorf("%s after the answer: %s, want %s", after, a.State, want)
		}
	}
}

// TestHandNamedSuccessors: a name that somebody gave goes on to whatever persona takes over; a persona's name does not.
func TestHandNamedSuccessors(t *testing.T) {
	t.Parallel()
	persona := "developer-con-1"
	for _, tt := range [][3]string{
		{"cart", "", "cart"}, {"cart", persona, "cart"}, {"cart", "reviewer-ada-1", "cart"}, {persona, "reviewer-ada-1", "reviewer-ada-1"}, {persona, persona, persona},
	} {
		equal(t, fmt.Sprintf("%s to %s", tt[0], tt[1]), handoffs.HeirName(&daemon.Agent{Name: tt[0], Persona: &persona}, &daemon.Heir{Persona: tt[1]}), tt[2])
	}
}

// TestInterruptedQuestionIsNotPassedOn: a person has interrupted the turn of the last prompt, so no successor is shown as being
// asked that. What an agent has answered, or is at work on, goes on.
func TestInterruptedQuestionIsNotPassedOn(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.finishes("Fix the cart", "It is fixed.", 0)
	equal(t, "of a turn that has ended, … is passed on", agents.PassedOn(h.agent), "Fix the cart")
	h.takes("UserPromptSubmit", map[string]any{"prompt": "What is this?", "prompt_id": "q"})
	h.agent.HandingOver = true // the turn goes on, and takes the instruction
	equal(t, "of a turn that takes the instruction, … is passed on", agents.PassedOn(h.agent), "What is this?")
	h.agent.HandingOver = false
	equal(t, "of a turn that was interrupted, … is passed on", agents.PassedOn(h.agent), "")
}
