package intake

import (
	"cmp"
	"encoding/json"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

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
	e := h.StateEvent(h.tx.Agent, about)
	if h.tx.Handoff != nil {
		e.HandoffID = &h.tx.Handoff.ID
	}
	h.out.Change.Events = append(h.out.Change.Events, e)
}

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
