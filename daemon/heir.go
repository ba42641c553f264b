package daemon

import (
	"slices"
	"time"
)

// Heir says what an agent that takes over the work of another shall be. An empty field is as with the outgoing agent. An
// heir with another persona takes the runtime and the model of that persona, if it has them.
type Heir struct {
	Persona        string `json:"persona"`
	Runtime        string `json:"runtime"`
	Model          string `json:"model"`
	PermissionMode string `json:"permission_mode"` // in the runtime's own words
}

// HandoffHeir is one heir of a handoff, with its agent. It goes through the phases from spawning to briefing. Heirs that are
// briefed first do so while the handoff is in one phase, each by itself. If the outgoing agent ends first, the phases of the
// only heir are those of the handoff, so Deadline, Note and Error stand on the handoff alone.
type HandoffHeir struct {
	Heir

	AgentID    *int64     `json:"agent_id"` // nil: not started
	Phase      Phase      `json:"phase"`    // "": not started; Completed: briefed
	PhaseAt    *time.Time `json:"phase_at"`
	Deadline   *time.Time `json:"deadline"`
	Hold       *Hold      `json:"hold"`        // what it waits for, where the phase does not say; nil: the phase says it
	Note       string     `json:"note"`        // the words of Hold, which writes it
	DeliveryID *int64     `json:"delivery_id"` // its injection prompt
	BriefedAt  *time.Time `json:"briefed_at"`
	ReadAt     *time.Time `json:"read_at"`   // derived, as that of the handoff
	UnreadAt   *time.Time `json:"unread_at"` // derived
	Error      *Failure   `json:"error"`
}

// Over reports whether the heir is briefed or has failed.
func (h *HandoffHeir) Over() bool { return h.Phase == Completed || h.Phase == Failed }

// HeirsFirst reports whether the heirs are briefed before the outgoing agent ends, because there are several, or because the
// outgoing agent is kept.
func (h *Handoff) HeirsFirst() bool { return h.Keep || len(h.Heirs) > 1 }

// SuccessorIDs returns the ids of the agents that the handoff has started, in the order of the heirs.
func (h *Handoff) SuccessorIDs() (ids []int64) {
	for i := range h.Heirs {
		if id := h.Heirs[i].AgentID; id != nil {
			ids = append(ids, *id)
		}
	}
	return ids
}

// Targets returns the personas that take over, each once.
func (h *Handoff) Targets() (slugs []string) {
	for i := range h.Heirs {
		if slug := h.Heirs[i].Persona; !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}
