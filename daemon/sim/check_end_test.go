package sim

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// finished reports whether nothing is left to do.
func finished(w *world) bool {
	if w.busy > 0 {
		return false
	}
	agents, handoffs := w.rows()
	for i := range handoffs {
		if handoffs[i].Open() {
			return false
		}
	}
	for a := range each(agents) {
		open, err := openDeliveries(w, a)
		if err != nil || len(open) > 0 || underway(w, a) || w.waitsForLimit(a) || w.undecided(a) || a.DialogAnswer != nil && a.DialogAnswer.Open() {
			return false
		}
	}
	for _, h := range w.hosts {
		if list, err := w.lent.PendingAlerts(ctx(), h.name, 10); err != nil || len(list) > 0 || w.treesOpen(h) {
			return false
		}
	}
	return len(w.openPermissions()) == 0 && pipelinesFinished(w)
}

// underway reports whether an agent is about to start or to stop. An agent that starts takes a while to read its launch
// file.
func underway(w *world, a *daemon.Agent) bool {
	starts := a.Managed && a.SpawnedAt == nil || a.State == daemon.Starting && w.process(a.ID) == nil
	return a.Active() && (starts || a.StopAskedAt != nil && a.StopStage != daemon.StopFailed)
}

// unfinished reports everything that should have ended by now.
func unfinished(w *world) {
	agents, handoffs := w.rows()
	w.checkDialogAnswers(agents, true)
	for h := range each(handoffs) {
		if h.Open() {
			w.fail("handoff %d is still %s (%s) %s after the last fault", h.ID, h.Phase, h.Note, patience)
		}
	}
	for a := range each(agents) {
		open, err := openDeliveries(w, a)
		w.ok(err)
		for _, d := range open {
			w.fail("delivery %d (%s) of agent %d is still %s %s after the last fault", d.ID, d.Kind, a.ID, d.State, patience)
		}
		if w.waitsForLimit(a) {
			w.fail("nothing was done about the limit of agent %d (%+v) %s after the last fault", a.ID, *a.Limit, patience)
		}
		if w.undecided(a) {
			w.fail("nobody has decided whether agent %d has read its handoff %s after the last fault", a.ID, patience)
		}
		if underway(w, a) {
			w.fail("agent %d is still starting or stopping (%q) %s after the last fault", a.ID, a.StopStage, patience)
		}
	}
	for _, h := range w.hosts {
		if list, err := w.lent.PendingAlerts(ctx(), h.name, 10); err != nil || len(list) > 0 {
			w.fail("%s: the operator was never told of %d events, the first %q (%v)", h.name, len(list), list[0].Type, err)
		}
		if w.treesOpen(h) {
			w.fail("%s: something is still being done with a tree %s after the last fault", h.name, patience)
		}
	}
	for _, p := range w.openPermissions() {
		w.fail("permission %d of agent %d is still %s %s after the last fault: %+v", p.ID, p.AgentID, p.State, patience, p)
	}
	pipelinesUnfinished(w)
	if len(w.failures) == 0 {
		w.fail("people still wait for something %s after the last fault", patience)
	}
}

// ended checks what must be true when nothing goes wrong any more and nothing is left to do.
func ended(w *world) {
	agents, handoffs := w.rows()
	events := log(w)
	w.checkPlaces(agents)
	for i := range agents {
		checkAgent(w, &agents[i], events)
	}
	for h := range each(handoffs) {
		checkLog(w, h, events)
		checkOutgoing(w, h, agents)
		for _, id := range h.SuccessorIDs() { // checkOnce says that none gets it twice
			if h.Phase == daemon.Completed && w.process(id) != nil && w.takes[takeKey(id, h.Ref)] == 0 {
				w.fail("handoff %d is completed, but agent %d never got its prompt", h.ID, id)
			}
		}
	}
	w.coverStored(agents, events)
	w.checkLimits(agents, handoffs, events)
	w.checkReading(agents, events)
	w.checkPermissions()
	checkResumed(w, agents, events)
	w.ownEnded()
	w.checkCompact(agents)
	checkMessages(w, agents, events)
	checkDropped(w, agents, handoffs, events)
	pipelinesEnded(w, agents, events)
	w.treesEnded(events)
	for e := range each(events) {
		switch e.Type {
		case "hook_set_aside", "hook_refused", "hook_disbelieved":
			w.fail("event %d: %s %s", e.ID, e.Type, e.Payload)
		}
	}
	for _, a := range w.agents {
		i := slices.IndexFunc(agents, func(row daemon.Agent) bool { return row.ID == a.id })
		if !a.dead && a.id != 0 && (i < 0 || !agents[i].Active()) {
			w.fail("process %d runs, but its agent %d has ended", a.proc.PID-tmuxtest.AbovePID, a.id)
		}
	}
}

// log returns the whole event log.
func log(w *world) (all []event.Event) {
	for after := int64(0); ; {
		page := must(w.lent.Events(ctx(), event.Filter{After: after, Limit: 500}))
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].ID
	}
}

// checkAgent: an agent is active if and only if its process runs, and the log has its end once.
func checkAgent(w *world, a *daemon.Agent, events []event.Event) {
	p := w.process(a.ID)
	if a.Active() && p == nil {
		w.fail("agent %d is %s, but its process has ended", a.ID, a.State)
	}
	ends := 0
	for e := range each(events) {
		if e.AgentID != nil && *e.AgentID == a.ID && (e.Type == "agent_ended" || e.Type == "agent_failed" && strings.Contains(string(e.Payload), "start_failed")) {
			ends++
		}
	}
	if want := 1; !a.Active() && ends != want || a.Active() && ends != 0 {
		w.fail("agent %d is %s, but the log has its end %d times", a.ID, a.State, ends)
	}
}

// phases are the phases to which a handoff can move.
var phases = []daemon.Phase{
	daemon.Instructing, daemon.Generating, daemon.AwaitingDocument, daemon.Verifying, daemon.Recorded, daemon.BriefingHeirs, daemon.ShuttingDown, daemon.Spawning,
	daemon.AwaitingRegistration, daemon.InjectingSkill, daemon.Briefing, daemon.Completed, daemon.Failed, daemon.Cancelled,
}

// checkLog: each move of a handoff has its event, in order, and each failure is an alert.
func checkLog(w *world, h *daemon.Handoff, events []event.Event) {
	moves := must(w.lent.Transitions(ctx(), h.ID))
	var told []string
	for e := range each(events) {
		if e.HandoffID == nil || *e.HandoffID != h.ID {
			continue
		}
		switch phase := strings.TrimPrefix(string(e.Type), "handoff_"); {
		case e.Type == "handoff_retried":
			var p struct{ Phase string }
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				w.fail("event %d: %v", e.ID, err)
			}
			told = append(told, p.Phase)
		case slices.Contains(phases, daemon.Phase(phase)):
			told = append(told, phase)
		}
		if e.Type == "handoff_failed" && !e.Alert {
			w.fail("handoff %d failed without an alert", h.ID)
		}
	}
	var did []string
	for _, m := range moves {
		did = append(did, string(m.To))
	}
	if !slices.Equal(did, told) {
		w.fail("handoff %d moved to %v, but the log has %v", h.ID, did, told)
	}
}

// checkResumed checks what the daemons did by themselves for agents that had died before their start: each such agent ended with
// its tmux server, which nobody asked for, and was seen to once.
func checkResumed(w *world, agents []daemon.Agent, events []event.Event) {
	rows, resumed, told := map[int64]*daemon.Agent{}, map[int64]int{}, map[int64]int{}
	for i := range agents {
		rows[agents[i].ID] = &agents[i]
	}
	for e := range each(events) {
		switch e.Type {
		case event.AgentResumed:
			resumed[*e.AgentID]++
		case event.AgentNotResumed:
			told[*e.AgentID]++
		default:
			continue
		}
		if a := rows[*e.AgentID]; a.Active() || *a.EndReason != "tmux_server_gone" || a.StopAskedAt != nil {
			w.fail("event %d: %s of agent %d, which ended by %v", e.ID, e.Type, a.ID, a.EndReason)
		}
		if !w.resume {
			w.fail("event %d: %s without the setting", e.ID, e.Type)
		}
	}
	for id, n := range resumed {
		heirs := 0
		for a := range each(agents) {
			if a.PreviousAgentID != nil && *a.PreviousAgentID == id && a.Resume != "" {
				heirs++
			}
		}
		if n != 1 || heirs == 0 || told[id] > 0 {
			w.fail("agent %d was resumed by a daemon %d times, told of as not resumed %d times, and has %d agents that opened its session", id, n, told[id], heirs)
		}
	}
	for id, n := range told {
		if n > 1 {
			w.fail("the operator was told %d times that agent %d was not resumed", n, id)
		}
	}
	w.plan.counts["resumed by the daemon"] += len(resumed)
	w.plan.counts["not resumed by the daemon"] += len(told)
}
