package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

const (
	maxWaitsFor    = 200 // runes
	maxLastMessage = 600 // runes
)

// waitsFor says in a line what a dialog asks of a person, as far as the runtime's hook tells. What an
// agent wants to do is its own text.
func waitsFor(p hooks.Payload) string {
	if p.ToolName == "" {
		return words.Clip(words.Line(p.Message), maxWaitsFor)
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
	_ = json.Unmarshal(p.ToolInput, &in) // a tool whose input is different has no details
	switch {
	case p.ToolName == "ExitPlanMode":
		return "approval of its plan"
	case len(in.Questions) > 0:
		return words.Clip(words.Line(in.Questions[0].Question), maxWaitsFor)
	}
	asked := words.Join(": ", "permission for "+p.ToolName, cmp.Or(in.Command, in.FilePath, in.Path, in.URL))
	return words.Clip(words.Line(asked), maxWaitsFor)
}

// beginWaiting has the agent wait for a person. A request for permission is a dialog of its own, though nothing
// may have told of the end of the one before; a notification comes later, and tells less of the same one.
func (h *hookStep) beginWaiting() {
	a := h.tx.Agent
	if a.WaitsFor != "" && h.p.Event != "PermissionRequest" {
		return
	}
	a.WaitsFor = waitsFor(h.p)
	a.be(Waiting, h.in.At)
	h.tellState()
}

// setState changes the agent's state and says so once.
func (h *hookStep) setState(s AgentState) {
	a := h.tx.Agent
	if a.be(s, h.in.At) {
		h.tellState()
	}
}

func (h *hookStep) tellState() {
	e := h.d.stateEvent(h.tx.Agent, map[string]any{"hook": h.p.Event})
	if h.tx.Handoff != nil {
		e.HandoffID = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, e)
}

// stateEvent tells of an agent's new state. A dialog that nobody else tells of is one to tell of.
func (d *Daemon) stateEvent(a *Agent, payload map[string]any) *event.Event {
	e := d.event(event.Of("agent", a.State), &a.ID, nil, payload).For(a.PipelineID, a.StepID)
	if a.State != Waiting {
		return e
	}
	asks := ""
	if a.WaitsFor != "" {
		asks = " ‹" + strings.NewReplacer("‹", "<", "›", ">").Replace(a.WaitsFor) + "›"
	}
	payload["waits_for"] = a.WaitsFor
	payload["message"] = fmt.Sprintf("Agent %d (%s) waits for you%s: `understudy agent attach %[1]d`.", a.ID, a.Name, asks)
	e.Payload = event.Payload(payload)
	if a.PipelineID == nil { // the run says so itself
		e.Notice = event.NoticeWaiting
	}
	return e
}
