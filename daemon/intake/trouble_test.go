package intake

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// hooked is an agent with its handoff, to which a test applies hooks one after the other.
type hooked struct {
	t          *testing.T
	agent      *daemon.Agent
	handoff    *daemon.Handoff
	deliveries []*daemon.Delivery
	id         int64 // of the last hook
	at         time.Time
	own        bool // the daemon has read them
	replayed   bool // they come out of the spool
	moves      map[engine.Move]bool
}

func hookedAgent(t *testing.T) *hooked {
	now := time.Date(2031, 5, 4, 3, 0, 0, 0, time.UTC)
	return &hooked{t: t, at: now, agent: &daemon.Agent{ID: 3, Name: "con", State: daemon.Idle, StateAt: now, AgentPane: daemon.AgentPane{PID: 7}, RegisteredAt: &now}}
}

// gets applies a hook a minute after the last one, and returns the events about the agent's trouble.
func (h *hooked) gets(name string, fields map[string]any) (about []*event.Event) {
	h.t.Helper()
	return slices.DeleteFunc(h.takes(name, fields), func(e *event.Event) bool { return e.Type != event.AgentTrouble && e.Type != event.AgentTroubleOver })
}

// takes applies a hook a minute after the last one, and returns the events.
func (h *hooked) takes(name string, fields map[string]any) []*event.Event {
	h.t.Helper()
	h.id++
	h.at = h.at.Add(time.Minute)
	body := value(json.Marshal(fields))(h.t)
	p := value(hooks.Parse(name, body))(h.t)
	step := hookStep{Facts: h.facts(), own: h.own, p: p, in: daemon.HookInput{Key: fmt.Sprint(h.id), PID: 7, At: h.at, Replayed: h.replayed}, tx: daemon.HookTx{HookID: h.id, Agent: h.agent, Handoff: h.handoff, Deliveries: h.deliveries}}
	out := step.decide()
	if !out.Applied {
		h.t.Fatalf("%s was not applied: %s", name, out.Reason)
	}
	return out.Change.Events
}

// facts returns what is known when a hook comes.
func (h *hooked) facts() engine.Facts {
	f := h.daemon().Facts()
	for m, yes := range h.moves {
		f.Answers[engine.Question{Move: m}] = engine.Answer{Yes: yes}
	}
	return *f
}

// daemon returns a daemon that knows nothing of the agent.
func (h *hooked) daemon() *Daemon {
	return New(engine.Config{Host: "h", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// says fails the test unless the events have the types in want. A "!" follows the type of an event that is a notice.
func (h *hooked) says(about []*event.Event, want string) {
	h.t.Helper()
	var got []string
	for _, e := range about {
		name := string(e.Type)
		if e.Notice == event.NoticeWaiting {
			name += "!"
		}
		got = append(got, name)
	}
	equal(h.t, "events", strings.Join(got, " "), want)
}

func (h *hooked) fails(kind, text string) []*event.Event {
	h.t.Helper()
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": fmt.Sprint(h.id)})
	return h.gets("StopFailure", map[string]any{"error": kind, "last_assistant_message": text})
}

// Trouble is told once, however often the agent tries in vain.
func TestTroubleFromAFailedTurnToAGoodOne(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.gets("Stop", map[string]any{"last_assistant_message": "All is done."})
	if h.agent.LastMessage != "All is done." || h.agent.Trouble != nil {
		t.Fatalf("agent %+v after a good turn", h.agent)
	}
	about := h.fails("rate_limit", "You've hit your 5-hour limit · \x1bresets\n7:08am (UTC)")
	h.says(about, "agent_trouble") // the decision about the limit is a notice of its own
	began := h.at
	want := daemon.Trouble{Code: "usage_limit", Message: "You've hit your 5-hour limit · resets 7:08am (UTC)", Since: began}
	if a := h.agent; a.Trouble == nil || *a.Trouble != want || a.State != daemon.Limited || a.LastMessage != "" || a.InTrouble() == nil {
		t.Errorf("agent %+v in trouble %+v, want %+v and no answer", a, a.Trouble, want)
	}
	const told = "Agent 3 (con) has hit a usage limit ‹You've hit your 5-hour limit · resets 7:08am (UTC)›."
	if _, message := tell.AlertText(about[0]); message != told || words.Log(message) == message {
		t.Errorf("told %q, want %q, and the runtime's text marked as such", message, told)
	}

	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "p"})
	if a := h.agent; a.Trouble == nil || a.InTrouble() != nil || a.TurnError != "" {
		t.Errorf("agent %+v in its next turn: want it in trouble still, which the turn may end", a)
	}
	h.says(h.gets("StopFailure", map[string]any{"error": "rate_limit", "last_assistant_message": "You've hit your weekly limit"}), "")
	if got := h.agent.Trouble; got.Message != "You've hit your weekly limit" || !got.Since.Equal(began) {
		t.Errorf("trouble %+v after another try, want the newest text and the old time", got)
	}

	// Trouble with another code is told if it asks a person for something else.
	h.says(h.fails("authentication_failed", "Please run /login"), "agent_trouble!")
	h.says(h.fails("overloaded", "API Error: 529"), "agent_trouble!")
	h.says(h.fails("server_error", "API Error: 500"), "agent_trouble")

	h.gets("SessionStart", map[string]any{"session_id": "new", "source": "clear"})
	if h.agent.Trouble == nil {
		t.Error("a new session has ended the trouble before a turn of it has")
	}
	over := h.gets("Stop", map[string]any{"session_id": "new", "last_assistant_message": "Here I am."})
	h.says(over, "agent_trouble_over")
	if a := h.agent; a.Trouble != nil || a.TurnError != "" || a.LastMessage != "Here I am." {
		t.Errorf("agent %+v after a good turn", a)
	}
	equal(t, "the event says", over[0].Words(), "Agent 3 is out of its trouble: server_error")
	h.says(h.gets("Stop", map[string]any{}), "")
	h.says(h.fails("server_error", "API Error: 500"), "agent_trouble!")
}

// When a sub-agent's turn fails the agent's own turn goes on.
func TestTroubleOfASubagentIsNotTheAgents(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.gets("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "p"})
	h.says(h.gets("StopFailure", map[string]any{"error": "invalid_request", "agent_id": "adc372cf0542a8dc7"}), "")
	if a := h.agent; a.Trouble != nil || a.State != daemon.Working {
		t.Errorf("agent is %s in trouble %+v", a.State, a.Trouble)
	}
}

// A handoff and a pipeline that fail by trouble say so in the same words.
func TestTroubleIsNoNoticeIfAHandoffOrAPipelineFailsByIt(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.handoff = &daemon.Handoff{ID: 5, Phase: daemon.AwaitingDocument, Confirmed: true}
	h.says(h.fails("overloaded", "API Error: 529 Overloaded."), "agent_trouble")
	if h.handoff.Trouble != "overloaded: API Error: 529 Overloaded." || h.handoff.Trouble != h.agent.TurnError || h.agent.TurnError != h.agent.Trouble.Words() {
		t.Errorf("the handoff has %q, a pipeline %q, the agent %q", h.handoff.Trouble, h.agent.TurnError, h.agent.Trouble.Words())
	}
	h = hookedAgent(t)
	pipeline := int64(9)
	h.agent.PipelineID = &pipeline
	h.says(h.fails("overloaded", "API Error: 529 Overloaded."), "agent_trouble")

	h = hookedAgent(t) // the instruction was not typed yet: the handoff does not fail by this turn
	h.handoff = &daemon.Handoff{ID: 5, Phase: daemon.Instructing}
	h.says(h.fails("overloaded", "API Error: 529 Overloaded."), "agent_trouble!")
	equal(t, "the handoff has", h.handoff.Trouble, "")
}

func TestEachTroubleHasAHintWithACommand(t *testing.T) {
	t.Parallel()
	for _, code := range daemon.TroubleCodes() {
		a := daemon.Agent{ID: 3, AgentTurn: daemon.AgentTurn{Trouble: &daemon.Trouble{Code: code}}}
		if hint := views.TroubleHint(&a); !strings.Contains(hint, "`understudy agent ") || a.Trouble.Words() != code {
			t.Errorf("%s: hint %q, words %q", code, hint, a.Trouble.Words())
		}
	}
}

// TestSessionOfALostStart: the hook that tells of the session was lost. The next hook names the session, and the overtaken
// rule knows the end of a later turn by its time.
func TestSessionOfALostStart(t *testing.T) {
	t.Parallel()
	h := hookedAgent(t)
	h.gets("UserPromptSubmit", map[string]any{"prompt": "build", "session_id": "s1", "transcript_path": "/t"})
	if a := h.agent; a.SessionID == nil || *a.SessionID != "s1" || a.TranscriptPath == nil || *a.TranscriptPath != "/t" {
		t.Errorf("agent %+v, want session s1", a)
	}
	h.gets("Stop", map[string]any{"session_id": "s2"})
	equal(t, "session …, want the known one to stay", *h.agent.SessionID, "s1")
	for _, c := range []struct {
		at   time.Duration // after the row's state
		want bool
	}{{-time.Second, true}, {0, true}, {time.Second, false}} {
		a := *h.agent
		a.TurnPromptID = "turn-2"
		step := hookStep{Facts: *New(engine.Config{}).Facts(), own: true, in: daemon.HookInput{At: a.StateAt.Add(c.at)}, tx: daemon.HookTx{Agent: &a}, p: hooks.Payload{Event: hooks.StopFailure, PromptID: "turn-1"}}
		equal(t, fmt.Sprint("the end of another turn ", c.at, " after the row's state is overtaken"), step.overtaken(), c.want)
	}
}

// TestPromptFromTheSpoolAfterItsEnd: the hook of a prompt comes out of the spool after the end of its turn was read.
func TestPromptFromTheSpoolAfterItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		replayed bool
		at       time.Duration // after the row's state
		want     daemon.AgentState
	}{{true, -time.Second, daemon.Idle}, {true, time.Second, daemon.Working}, {false, -time.Second, daemon.Working}} {
		a := *hookedAgent(t).agent
		p := value(hooks.Parse("UserPromptSubmit", []byte(`{"prompt":"build","prompt_id":"p"}`)))(t)
		d := New(engine.Config{Host: "h", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		step := hookStep{Facts: *d.Facts(), p: p, in: daemon.HookInput{Key: "k", PID: 7, At: a.StateAt.Add(c.at), Replayed: c.replayed}, tx: daemon.HookTx{HookID: 9, Agent: &a}}
		if out := step.decide(); !out.Applied || a.State != c.want || a.LastPrompt != 9 || a.TurnPromptID != "p" {
			t.Errorf("%+v: the agent is %s, last prompt %d: %s", c, a.State, a.LastPrompt, out.Reason)
		}
	}
}
