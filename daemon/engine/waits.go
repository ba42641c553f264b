package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// waitsFor says in one line what a dialog asks a person for, as far as the runtime's hook says it. The line holds text of
// the agent, such as the command that it wants to run.
func waitsFor(p hooks.Payload) string {
	if p.ToolName == "" {
		return words.Clip(words.Line(p.Message), daemon.MaxWaitsFor)
	}
	var in struct {
		Command   string `json:"command"`
		FilePath  string `json:"file_path"`
		Path      string `json:"notebook_path"`
		URL       string `json:"url"`
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	_ = json.Unmarshal(p.ToolInput, &in) // the input of other tools gives no details
	switch {
	case p.ToolName == "ExitPlanMode":
		return "approval of its plan"
	case len(in.Questions) > 0:
		return words.Clip(words.Line(in.Questions[0].Question), daemon.MaxWaitsFor)
	}
	asked := words.Join(": ", "permission for "+p.ToolName, cmp.Or(in.Command, in.FilePath, in.Path, in.URL))
	return words.Clip(words.Line(asked), daemon.MaxWaitsFor)
}

// beginWaiting notes that the agent waits for a person. A PermissionRequest always opens a new dialog, because the
// previous dialog may have ended without a hook. A Notification does not change WaitsFor: it comes after the
// PermissionRequest of the same dialog, and says less.
func (h *hookStep) beginWaiting() {
	a := h.tx.Agent
	if h.p.AgentID == "" && h.turnHasEnded() {
		return // a sub-agent may ask below an agent that rests
	}
	if a.WaitsFor != "" && h.p.Event != "PermissionRequest" {
		return
	}
	a.Ask(waitsFor(h.p))
	a.Be(daemon.Waiting, h.in.At)
	h.tellState()
}

// turnHasEnded reports whether this hook comes out of the spool and belongs to a turn whose end was read meanwhile. It changes no state: no
// other end of that turn will come.
func (h *hookStep) turnHasEnded() bool {
	a := h.tx.Agent
	return h.in.Replayed && a.AtRest() && h.in.At.Before(a.StateAt)
}

// setState changes the agent's state. If the state was another one, it adds the event.
func (h *hookStep) setState(s daemon.AgentState) {
	a := h.tx.Agent
	if a.Be(s, h.in.At) {
		h.tellState()
	}
}

func (h *hookStep) tellState() {
	about := map[string]any{"hook": h.p.Event}
	if h.asked != nil {
		about["permission_id"] = h.asked.ID
	}
	e := h.stateEvent(h.tx.Agent, about)
	if h.tx.Handoff != nil {
		e.HandoffID = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, e)
}

// stateEvent makes the event of an agent's new state. If the agent waits, the event says for what, and is a notice
// unless the agent works for a pipeline, which has a notice of its own.
func (f *Facts) stateEvent(a *daemon.Agent, payload map[string]any) *event.Event {
	if a.State == daemon.Limited {
		payload["kind"], payload["until"] = a.Limit.Kind, a.LimitedUntil
	}
	e := f.event(event.Of("agent", a.State), &a.ID, nil, payload).For(a.PipelineID, a.StepID)
	if a.State != daemon.Waiting {
		return e
	}
	asks := ""
	if a.WaitsFor != "" {
		asks = " ‹" + strings.NewReplacer("‹", "<", "›", ">").Replace(a.WaitsFor) + "›"
	}
	payload["waits_for"] = a.WaitsFor
	payload["message"] = fmt.Sprintf("Agent %d (%s) waits for you%s: %s.", a.ID, a.Name, asks, a.AnswerWith())
	if id, ok := payload["permission_id"]; ok {
		payload["message"] = fmt.Sprintf("Agent %d (%s) waits for you%s: `understudy permission show %d`.", a.ID, a.Name, asks, id)
	}
	e.Payload = event.Payload(payload)
	if a.PipelineID == nil {
		e.Notice = event.NoticeWaiting
	}
	return e
}

// nameDialog names what a waiting agent asks for, if its registry entry alone has told that it waits.
func nameDialog(d *Daemon, ctx context.Context, a *daemon.Agent) {
	if a.State != daemon.Waiting || a.WaitsFor != "" {
		return
	}
	list, err := d.Store.Permissions(ctx, daemon.PermissionFilter{AgentID: a.ID, Limit: daemon.RecentPermissions})
	if err != nil {
		return // it waits for something that has no name
	}
	if p := daemon.FirstAsked(list, 0, a.StateAt); p != nil {
		a.Ask(daemon.AskedFor(p))
	}
}

// reminded is how long after the answer to a permission a Notification about a dialog is about that dialog: the runtime sends one
// only when a dialog has been open for 6 s (measured with Claude Code 2.1.329).
const reminded = 5 * time.Second

// NoteAnswered notes that the dialog of a permission is closed. For a moment the registry still says that the agent waits, and a
// Notification may be on its way.
func noteAnswered(d *Daemon, agentID int64, now time.Time) {
	d.outdate(agentID)
	d.memories.change(agentID, func(m *agentMemory) { m.answeredAt = now })
}
