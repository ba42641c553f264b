package sim

import (
	"fmt"
	"slices"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/handoffs"
)

// heirSlot says which heir of which handoff an agent is.
type heirSlot struct {
	handoff int64
	heir    int
}

// checkHeirs: a handoff has heirs, and an agent is one heir of one handoff. Of the active successors of an agent at most one is
// not one of those that were to be briefed before its end. An heir is briefed once and for good, by the prompt that it was sent.
func checkHeirs(w *world, agents []daemon.Agent, handoffs []daemon.Handoff) {
	slots, first := map[int64]heirSlot{}, map[int64]bool{}
	for h := range each(handoffs) {
		if len(h.Heirs) == 0 {
			w.fail("handoff %d has no heir", h.ID)
			continue
		}
		for j := range h.Heirs {
			heir, slot := &h.Heirs[j], heirSlot{h.ID, j}
			if heir.AgentID != nil {
				if other, taken := slots[*heir.AgentID]; taken {
					w.fail("agent %d is heir %d of handoff %d and heir %d of handoff %d", *heir.AgentID, j, h.ID, other.heir, other.handoff)
				}
				slots[*heir.AgentID], first[*heir.AgentID] = slot, h.HeirsFirst()
			}
			checkBriefed(w, h, slot, heir)
		}
		if h.HeirsFirst() {
			checkOver(w, h)
		} else {
			checkOnlyHeir(w, h)
		}
	}
	alone := map[int64]int64{}
	for a := range each(agents) {
		if first[a.ID] || !a.Active() || a.PreviousAgentID == nil {
			continue
		}
		if other := alone[*a.PreviousAgentID]; other != 0 {
			w.fail("agents %d and %d are both active successors of agent %d", other, a.ID, *a.PreviousAgentID)
		}
		alone[*a.PreviousAgentID] = a.ID
	}
}

// checkOnlyHeir: the phases of an heir that comes after the end of the agent are those of the handoff, and the handoff's row names
// the heir and its prompt, for a daemon of the last release.
func checkOnlyHeir(w *world, h *daemon.Handoff) {
	heir := &h.Heirs[0]
	same := func(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }
	switch {
	case !same(h.SuccessorID, heir.AgentID):
		w.fail("handoff %d names another agent than its heir: %v", h.ID, h.SuccessorID)
	case heir.AgentID != nil && (heir.Phase != h.Phase || !same(h.DeliveryID, heir.DeliveryID)):
		w.fail("handoff %d is %s with agent %d, but its heir is %q, or has another prompt", h.ID, h.Phase, *h.SuccessorID, heir.Phase)
	case heir.AgentID == nil && heir.Phase != "":
		w.fail("handoff %d has an heir without an agent that is %q", h.ID, heir.Phase)
	}
}

// checkBriefed: an heir is briefed if and only if its prompt was taken, and it stays so.
func checkBriefed(w *world, h *daemon.Handoff, slot heirSlot, heir *daemon.HandoffHeir) {
	if was := w.briefed[slot]; was != 0 && (heir.Phase != daemon.Completed || heir.AgentID == nil || *heir.AgentID != was) {
		w.fail("heir %d of handoff %d was briefed as agent %d, and is %q now", slot.heir, h.ID, was, heir.Phase)
	}
	if h.HeirsFirst() && heir.Phase == daemon.Failed && (heir.Error == nil || heir.Error.Message == "") {
		w.fail("heir %d of handoff %d failed without an error", slot.heir, h.ID)
	}
	if heir.Phase != daemon.Completed {
		return
	}
	if heir.AgentID == nil || heir.DeliveryID == nil || heir.BriefedAt == nil {
		w.fail("heir %d of handoff %d is briefed without an agent, a delivery or a time", slot.heir, h.ID)
		return
	}
	w.briefed[slot] = *heir.AgentID
	d, err := w.lent.Delivery(ctx(), *heir.DeliveryID)
	if err != nil || d.AgentID != *heir.AgentID || d.Verdict == nil || *d.Verdict != daemon.Submitted {
		w.fail("heir %d of handoff %d is briefed, but delivery %d was not taken by agent %d: %v", slot.heir, h.ID, *heir.DeliveryID, *heir.AgentID, err)
	}
}

// checkOver: a handoff leaves its heirs only when all are briefed; it fails among them only when none is under way.
func checkOver(w *world, h *daemon.Handoff) {
	allowed := []daemon.Phase{daemon.Completed}
	switch {
	case h.Phase == daemon.Failed && h.Error != nil && h.Error.Phase == daemon.BriefingHeirs:
		allowed = append(allowed, daemon.Failed)
	case h.Phase != daemon.ShuttingDown && h.Phase != daemon.Completed:
		return
	}
	for j := range h.Heirs {
		if !slices.Contains(allowed, h.Heirs[j].Phase) {
			w.fail("handoff %d is %s, but its heir %d is %q", h.ID, h.Phase, j, h.Heirs[j].Phase)
		}
	}
}

// checkOutgoing: the outgoing agent of a completed handoff to heirs has ended unless it is kept.
func checkOutgoing(w *world, h *daemon.Handoff, agents []daemon.Agent) {
	if !h.HeirsFirst() {
		return
	}
	w.plan.count("heirs first, " + string(h.Phase))
	if h.Phase != daemon.Completed {
		return
	}
	i := slices.IndexFunc(agents, func(a daemon.Agent) bool { return a.ID == h.AgentID })
	if !h.Keep && i >= 0 && agents[i].Active() {
		w.fail("handoff %d is completed, but agent %d was neither kept nor ended", h.ID, h.AgentID)
	}
}

// choose draws to whom an agent is handed over.
func (p *person) choose(in *handoffs.HandoffRequest) {
	rng := p.w.rng
	defer func() {
		if p.w.clis == nil || p.w.clis.IntN(2) == 0 {
			return
		}
		if len(in.Heirs) == 0 {
			in.Heirs = []daemon.Heir{{}}
		}
		for i := range in.Heirs {
			in.Heirs[i].Runtime = p.w.drawRuntime()
		}
	}()
	if rng.IntN(3) > 0 {
		return
	}
	for range rng.IntN(4) {
		in.Heirs = append(in.Heirs, daemon.Heir{Persona: personaSlugs[rng.IntN(len(personaSlugs))]})
	}
	in.Keep = rng.IntN(3) == 0
}

// heirWords names the heirs of a request for the trace.
func heirWords(in *handoffs.HandoffRequest) string {
	return fmt.Sprintf("to %d heirs, keep %v", len(in.Heirs), in.Keep)
}
