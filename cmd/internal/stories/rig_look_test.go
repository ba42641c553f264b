package stories

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux"
)

// What a test sees past the API, and what it does in place of a person or of an agent's hook.

// pane is the agent's pane on the rig's own tmux server.
func (r *rig) pane(agentID int64) tmux.PaneInfo {
	r.t.Helper()
	panes := value(r.tmux.List(r.t.Context()))(r.t)
	for _, p := range panes {
		if p.Mark == strconv.FormatInt(agentID, 10) {
			return p
		}
	}
	r.t.Fatalf("agent %d has no pane", agentID)
	return tmux.PaneInfo{}
}

// personTypes types a text into the agent's pane and then presses the keys.
func (r *rig) personTypes(agentID int64, text string, keys ...tmux.Key) {
	r.t.Helper()
	must(r.t, r.tmux.Paste(r.t.Context(), r.pane(agentID).Ref, text, tmux.PasteOptions{After: keys}))
}

func (r *rig) personPresses(agentID int64, keys ...tmux.Key) {
	r.t.Helper()
	must(r.t, r.tmux.Keys(r.t.Context(), r.pane(agentID).Ref, keys...))
}

// shown is what the agent's pane shows.
func (r *rig) shown(agentID int64) string {
	r.t.Helper()
	p := r.pane(agentID)
	shown := value(r.tmux.Capture(r.t.Context(), 0, false, p.Ref))(r.t)
	return shown[p.Pane]
}

// awaitShown waits until the agent's pane shows the text.
func (r *rig) awaitShown(agentID int64, text string) {
	r.t.Helper()
	r.awaitEvery(tickOfScreens, fmt.Sprintf("agent %d: %q on its screen", agentID, text), func() (bool, string) {
		shown := r.shown(agentID)
		return strings.Contains(shown, text), shown
	})
}

func (r *rig) getAgent(id int64) daemon.Agent {
	r.t.Helper()
	return value(r.client.Agent(r.t.Context(), id))(r.t)
}

// latestHandoff is the agent's newest handoff. Its id need not be the next one: a request that lost a race took an id
// as well.
func (r *rig) latestHandoff(agentID int64) daemon.Handoff {
	r.t.Helper()
	return value(r.client.LatestHandoff(r.t.Context(), agentID))(r.t)
}

func (r *rig) getHandoff(id int64) daemon.Handoff {
	r.t.Helper()
	return value(r.client.Handoff(r.t.Context(), id))(r.t)
}

func (r *rig) awaitState(id int64, state daemon.AgentState) daemon.Agent {
	r.t.Helper()
	return r.awaitAgent(id, string(state), func(a daemon.Agent) bool { return a.State == state })
}

// awaitNote waits until the handoff's note contains the text.
func (r *rig) awaitNote(id int64, note string) daemon.Handoff {
	r.t.Helper()
	var h daemon.Handoff
	r.await(fmt.Sprintf("handoff %d: note %q", id, note), func() (bool, string) {
		h = r.getHandoff(id)
		return strings.Contains(h.Note, note), fmt.Sprintf("%s %q", h.Phase, h.Note)
	})
	return h
}

// sendMessage sends the agent a message through the API.
func (r *rig) sendMessage(agentID int64, text string) daemon.Delivery {
	r.t.Helper()
	return value(r.client.SendMessage(r.t.Context(), agentID, text, false))(r.t)
}

// holdTurn begins a turn that goes on until release is called.
func (r *rig) holdTurn(agentID int64, directive string) (release func()) {
	r.t.Helper()
	file, release := newHoldFile(r)
	dl := r.sendMessage(agentID, directive+" @hold "+file)
	r.awaitVerdict(agentID, dl.ID, daemon.Submitted)
	return release
}

// deliveries lists the agent's deliveries, oldest first.
func (r *rig) deliveries(agentID int64) []daemon.Delivery {
	r.t.Helper()
	list := value(r.client.Messages(r.t.Context(), agentID, allRows))(r.t)
	slices.Reverse(list)
	return list
}

func (r *rig) awaitVerdict(agentID, deliveryID int64, want daemon.Verdict) daemon.Delivery {
	r.t.Helper()
	var found daemon.Delivery
	r.await(fmt.Sprintf("delivery %d: verdict", deliveryID), func() (bool, string) {
		for _, dl := range r.deliveries(agentID) {
			if dl.ID == deliveryID {
				found = dl
			}
		}
		return found.Verdict != nil, fmt.Sprintf("%+v", found)
	})
	if *found.Verdict != want {
		r.t.Fatalf("delivery %d: %s (%s), want %s\n%s", deliveryID, *found.Verdict, found.Evidence, want, r.report())
	}
	return found
}

// wantKinds fails unless the agent's deliveries have exactly these kinds, in this order.
func (r *rig) wantKinds(agentID int64, want ...daemon.DeliveryKind) {
	r.t.Helper()
	var got []daemon.DeliveryKind
	for _, dl := range r.deliveries(agentID) {
		got = append(got, dl.Kind)
	}
	equal(r.t, fmt.Sprintf("agent %d: deliveries", agentID), got, want)
}

// entry is one line of a transcript.
type entry struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Summary bool   `json:"isCompactSummary"`
	Content any    `json:"content"`
	Message struct {
		Content any `json:"content"`
	} `json:"message"`
}

// transcript reads the agent's transcript: the entries of the user, the assistant and the system.
func (r *rig) transcript(agentID int64) []entry {
	r.t.Helper()
	path := r.getAgent(agentID).TranscriptPath
	if path == nil {
		return nil
	}
	b, err := os.ReadFile(*path)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var out []entry
	for line := range strings.Lines(string(b)) {
		var e entry
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		if e.Type == "user" || e.Type == "assistant" || e.Type == "system" || e.Type == "attachment" {
			out = append(out, e)
		}
	}
	return out
}

// told lists the texts that the agent's session was told, oldest first: prompts, and answers to its Stops.
func (r *rig) told(agentID int64) []string {
	r.t.Helper()
	var out []string
	for _, e := range r.transcript(agentID) {
		if text, ok := e.Message.Content.(string); ok && e.Type == "user" && !e.Summary {
			out = append(out, text)
		}
	}
	return out
}

// wantTold waits until the agent was told so many texts, and fails unless each contains its part. It must wait: a
// runtime confirms a prompt before it writes the prompt into the transcript.
func (r *rig) wantTold(agentID int64, parts ...string) {
	r.t.Helper()
	var got []string
	r.await(fmt.Sprintf("agent %d: told %q", agentID, parts), func() (bool, string) {
		got = r.told(agentID)
		return len(got) >= len(parts), fmt.Sprintf("%q", got)
	})
	ok := len(got) == len(parts)
	for i := 0; ok && i < len(parts); i++ {
		ok = strings.Contains(got[i], parts[i])
	}
	if !ok {
		r.t.Errorf("agent %d was told\n got %q\nwant %q", agentID, got, parts)
	}
}

// readFile returns what a file holds.
func (r *rig) readFile(path string) string {
	r.t.Helper()
	b := value(os.ReadFile(path))(r.t)
	return string(b)
}

// successors lists the agents that directly followed an agent, oldest first.
func (r *rig) successors(agentID int64) []daemon.Agent {
	r.t.Helper()
	list := value(r.client.Agents(r.t.Context(), allRows))(r.t)
	var out []daemon.Agent
	for _, a := range list {
		if a.PreviousAgentID != nil && *a.PreviousAgentID == agentID {
			out = append(out, a)
		}
	}
	slices.Reverse(out)
	return out
}

// agentEvents lists the agent's events of a type, in order.
func (r *rig) agentEvents(agentID int64, typ string) []event.Event {
	r.t.Helper()
	return r.eventsWhere(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == agentID && string(e.Type) == typ })
}

// handoffEvents lists the handoff's events of a type, in order.
func (r *rig) handoffEvents(handoffID int64, typ string) []event.Event {
	r.t.Helper()
	return r.eventsWhere(func(e event.Event) bool {
		return e.HandoffID != nil && *e.HandoffID == handoffID && string(e.Type) == typ
	})
}

func (r *rig) eventsWhere(keep func(event.Event) bool) []event.Event {
	r.t.Helper()
	events := value(r.events(r.t.Context()))(r.t)
	return slices.DeleteFunc(events, func(e event.Event) bool { return !keep(e) })
}

// field reads one field of an event's payload.
func field(t testing.TB, e event.Event, name string) any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		t.Fatalf("event %d: %v", e.ID, err)
	}
	return p[name]
}

// awaitFailure waits until the handoff fails. It checks that the operator was told of it in one sentence that says
// what to do next.
func (r *rig) awaitFailure(id int64, phase daemon.Phase, code string) daemon.Handoff {
	r.t.Helper()
	h := r.awaitPhase(id, daemon.Failed)
	if h.Status != daemon.StatusFailed || h.Error == nil || h.Error.Phase != phase || string(h.Error.Code) != code {
		r.t.Fatalf("handoff %d: %s %+v, want %s in %s\n%s", id, h.Status, h.Error, code, phase, r.report())
	}
	holds(r.t, "the failure", h.Error.Message, fmt.Sprintf("understudy handoff retry %d", id))
	if n := len(h.Error.Message); strings.Count(h.Error.Message, "\n") > 0 || n == 0 || h.Error.Message[n-1] != '.' {
		r.t.Errorf("failure %q is not one sentence", h.Error.Message)
	}
	awaitAlert(r, id, "handoff_failed")
	return h
}

// retryHandoff retries a failed handoff.
func (r *rig) retryHandoff(id int64) {
	r.t.Helper()
	r.retryHandoffIn(id, "")
}

// retryHandoffIn retries a failed handoff in a mode; "": in the mode that it has.
func (r *rig) retryHandoffIn(id int64, mode daemon.Mode) {
	r.t.Helper()
	value(r.client.RetryHandoff(r.t.Context(), id, mode))(r.t)
}

// wantError fails unless err has this kind and exactly this sentence.
func wantError(t testing.TB, err error, kind daemon.Kind, sentence string) {
	t.Helper()
	var e *daemon.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message != sentence {
		t.Errorf("got error %v, want kind %d %q", err, kind, sentence)
	}
}

// wantOneLive fails unless exactly one successor of the agent lives, and it is the handoff's.
func (r *rig) wantOneLive(agentID int64, h daemon.Handoff) {
	r.t.Helper()
	var live []int64
	for _, a := range r.successors(agentID) {
		if a.EndedAt == nil {
			live = append(live, a.ID)
		}
	}
	equal(r.t, fmt.Sprintf("live after agent %d", agentID), live, []int64{*h.SuccessorID})
}
