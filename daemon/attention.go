package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// AttentionKind is what kind of thing a person is needed for, in one word. Lists show it as a state.
type AttentionKind string

// The kinds of attention.
const (
	NeedsAnswer   AttentionKind = "waiting"  // a dialog is open in an agent's pane
	NeedsRetry    AttentionKind = "failed"   // a handoff or a pipeline failed
	NeedsDecision AttentionKind = "decision" // a handoff's agent was given work after its document
	NeedsCare     AttentionKind = "trouble"  // an agent's turns fail
	NeedsLook     AttentionKind = "stuck"    // an agent can't be ended, typed to or started: its note says which
	NeedsHandoff  AttentionKind = "full"     // an agent's context is nearly full, and the daemon does not hand it over by itself
	NeedsHeir     AttentionKind = "died"     // an agent died, and nobody goes on with its work
	NeedsApproval AttentionKind = "approval" // a pipeline waits for the approval of its next step
)

// What an [Attention] is about.
const (
	AboutAgent    = "agent"
	AboutHandoff  = "handoff" // neither of its agents is there any more
	AboutPipeline = "pipeline"
)

// Attention is one thing that needs a person. There is at most one about each agent, handoff and pipeline.
type Attention struct {
	Kind  AttentionKind `json:"kind"`
	About string        `json:"about"` // agent, handoff or pipeline
	ID    int64         `json:"id"`    // of that
	Brief string        `json:"brief"` // why, in the few words that a list has room for
	Why   string        `json:"why"`   // why, as one sentence about the agent or the pipeline; no full stop is added
	Since time.Time     `json:"since"`
	Next  string        `json:"next"` // what to do next, with its command between backquotes

	Agent    *Agent    `json:"agent"`   // with about handoff: the outgoing one, null if it is not known any more
	Handoff  *Handoff  `json:"handoff"` // the one that concerns the agent; null: none does
	Pipeline *Pipeline `json:"pipeline"`
}

// Overview is what there is to look at: what works, and what has ended lately. [Overview.Attention] decides by
// nothing else.
type Overview struct {
	At        time.Time
	Agents    []Agent // those that have not ended
	Ended     []Agent // of the others the newest end first, then those that have a part in a failed handoff
	Handoffs  []Handoff
	Pipelines []Pipeline
	Auto      bool // the daemon itself hands over agents whose context is nearly full
}

const (
	// MostAgents is how many agents an overview has that have not ended.
	MostAgents = 500
	// recent is how long an agent, a handoff without agents and a pipeline need a person after they have ended badly.
	recent = 24 * time.Hour
)

// Overview reads the rows of all hosts.
func (d *Daemon) Overview(ctx context.Context) (o Overview, err error) {
	o.At, o.Auto = d.now(), d.Settings.Handoff.Auto.Enabled
	if o.Agents, err = d.Store.Agents(ctx, AgentFilter{Active: true, Limit: MostAgents}); err != nil {
		return o, err
	}
	if o.Ended, err = d.Store.Agents(ctx, AgentFilter{Lately: true, Limit: 100}); err != nil {
		return o, err
	}
	for _, f := range []HandoffFilter{{Open: true, Limit: MostAgents}, {Status: StatusFailed, Last: true, Limit: 50}} {
		list, err := d.Store.Handoffs(ctx, f)
		if err != nil {
			return o, err
		}
		o.Handoffs = append(o.Handoffs, list...)
	}
	for _, f := range []PipelineFilter{{Open: true}, {Status: PipelineFailed, Limit: 20}} {
		list, err := d.Store.Pipelines(ctx, f)
		if err != nil {
			return o, err
		}
		o.Pipelines = append(o.Pipelines, list...)
	}
	missing, err := d.Store.AgentsByID(ctx, o.unread())
	o.Ended = append(o.Ended, missing...)
	return o, err
}

// unread are the agents of the failed handoffs that have not been read.
func (o *Overview) unread() (ids []int64) {
	known := map[int64]bool{}
	for _, a := range slices.Concat(o.Agents, o.Ended) {
		known[a.ID] = true
	}
	for i := range o.Handoffs {
		h := &o.Handoffs[i]
		if h.Phase != Failed || o.At.Sub(h.endedAt()) >= recent {
			continue
		}
		for _, id := range []*int64{&h.AgentID, h.SuccessorID} {
			if id != nil && !known[*id] {
				ids = append(ids, *id)
			}
		}
	}
	return ids
}

// Attention returns what needs a person, the longest wait first.
func (o *Overview) Attention() []Attention {
	with, orphans := o.concerns()
	var out []Attention
	told := map[int64]bool{} // ended agents of which a handoff tells
	for _, h := range orphans {
		n := h.failedAttention()
		n.About, n.ID, n.Handoff = AboutHandoff, h.ID, h
		for i := range o.Ended {
			if a := &o.Ended[i]; a.ID == h.AgentID {
				n.Agent = a
			}
		}
		told[h.AgentID] = true
		if h.SuccessorID != nil {
			told[*h.SuccessorID] = true
		}
		out = append(out, n)
	}
	for i := range o.Agents {
		a := &o.Agents[i]
		if n := a.attention(with[a.ID], o.Auto); n.Kind != "" {
			n.About, n.ID, n.Agent, n.Handoff = AboutAgent, a.ID, a, with[a.ID]
			out = append(out, n)
		}
	}
	for i := range o.Ended {
		if a := &o.Ended[i]; a.SuccessorID == nil && a.leavesWork() && !told[a.ID] && o.At.Sub(*a.EndedAt) < recent {
			n := attention(NeedsHeir, *a.EndedAt, "", "it died, which nobody asked for", a.againWords())
			n.About, n.ID, n.Agent = AboutAgent, a.ID, a
			out = append(out, n)
		}
	}
	for i := range o.Pipelines {
		p := &o.Pipelines[i]
		if n := p.attention(o.At); n.Kind != "" {
			n.About, n.ID, n.Pipeline = AboutPipeline, p.ID, p
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b Attention) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.About, b.About), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// HandoffOf returns, by agents that have not ended, the handoff that concerns each: the newest that is open or, if the
// agent's last one failed, that.
func (o *Overview) HandoffOf() map[int64]*Handoff {
	with, _ := o.concerns()
	return with
}

// concerns also returns the failed handoffs after which nobody goes on with the work.
func (o *Overview) concerns() (with map[int64]*Handoff, orphans []*Handoff) {
	active, ended, next, last := map[int64]bool{}, map[int64]*Agent{}, map[int64]int64{}, map[int64]*Handoff{}
	for _, list := range [][]Agent{o.Ended, o.Agents} {
		for i := range list {
			a := &list[i]
			if active[a.ID] = a.Active(); !active[a.ID] {
				ended[a.ID] = a
			}
			if a.SuccessorID != nil {
				next[a.ID] = *a.SuccessorID
			}
			if p := a.PreviousAgentID; p != nil {
				next[*p] = max(next[*p], a.ID)
			}
		}
	}
	for i := range o.Handoffs {
		if h := &o.Handoffs[i]; last[h.AgentID] == nil || last[h.AgentID].ID < h.ID {
			last[h.AgentID] = h
		}
	}
	newest := make([]*Handoff, 0, len(last))
	for _, h := range last {
		newest = append(newest, h)
		if h.SuccessorID != nil {
			next[h.AgentID] = max(next[h.AgentID], *h.SuccessorID)
		}
	}
	slices.SortFunc(newest, func(a, b *Handoff) int { return cmp.Compare(b.ID, a.ID) })
	with = map[int64]*Handoff{}
	for _, h := range newest {
		heir := h.AgentID
		for range len(next) { // no line is longer, so the walk ends in a circle as well
			if next[heir] == 0 {
				break
			}
			heir = next[heir]
		}
		mine := heir == h.AgentID || h.SuccessorID != nil && heir == *h.SuccessorID
		switch {
		case !h.Open() && h.Phase != Failed, !mine, heir != h.AgentID && last[heir] != nil:
		case active[heir] && with[heir] == nil:
			with[heir] = h
		case active[heir]:
		case active[h.AgentID] && with[h.AgentID] == nil: // its successor has ended, and it has not
			with[h.AgentID] = h
		case h.Phase == Failed && o.At.Sub(h.endedAt()) < recent && h.liesStill(ended[heir], heir):
			orphans = append(orphans, h)
		}
	}
	return with, orphans
}

// liesStill reports whether a person must see to the work of a failed handoff, of whose agents the last, heir, has
// ended. A person who ends that agent has seen to it. nil: the agent is not known.
func (h *Handoff) liesStill(a *Agent, heir int64) bool {
	return a == nil || h.RecordedAt != nil && heir == h.AgentID || a.leavesWork()
}

// leavesWork reports whether an agent has died in the middle of work that no pipeline goes on with.
func (a *Agent) leavesWork() bool { return a.PipelineID == nil && a.Died() }

// attention says what an agent that has not ended needs a person for; the zero value: for nothing. h is the handoff
// that concerns the agent. What holds up everything else comes first.
func (a *Agent) attention(h *Handoff, auto bool) Attention {
	look := fmt.Sprintf("`understudy agent show %d`", a.ID)
	if a.HasPane() {
		look = fmt.Sprintf("`understudy agent attach %d`", a.ID)
	}
	trouble := a.InTrouble()
	switch {
	case a.State == Waiting && a.StopStage != StopFailed && a.WaitsFor == "":
		return attention(NeedsAnswer, a.StateAt, "", cmp.Or(a.Note, "a dialog waits for an answer"), "answer it with "+look)
	case a.State == Waiting && a.StopStage != StopFailed:
		return attention(NeedsAnswer, a.StateAt, "it asks for ", a.WaitsFor, "answer it with "+look)
	case h != nil && h.Phase == Failed:
		return h.failedAttention()
	case a.StopStage == StopFailed:
		return attention(NeedsLook, *a.StopStageAt, "", "it could not be ended", fmt.Sprintf("end it yourself: see `ps -fp %d`", a.PID))
	case trouble != nil:
		return attention(NeedsCare, trouble.Since, "its turns fail: ", trouble.Words(), a.TroubleHint())
	case h != nil && h.awaitsDecision():
		return attention(NeedsDecision, cmp.Or(h.PhaseAt, a.StateAt), "", h.Note, fmt.Sprintf("`understudy handoff retry %d` or `understudy agent stop %d`", h.ID, a.ID))
	case a.Note != "":
		return attention(NeedsLook, a.StateAt, "", a.Note, "look at it with "+look)
	case h == nil && !auto && a.Context != nil && a.Context.Tier == TierHigh && a.Persona != nil:
		return attention(NeedsHandoff, a.StateAt, "", "its context is nearly full: hand it over", fmt.Sprintf("`understudy handoff %d`", a.ID))
	}
	return Attention{}
}

// attention is one that is not said yet whom it is about. Its sentence is before and brief.
func attention(kind AttentionKind, since time.Time, before, brief, next string) Attention {
	return Attention{Kind: kind, Since: since, Brief: brief, Why: before + brief, Next: next}
}

// againWords say how the work of an agent that has ended can go on.
func (a *Agent) againWords() string {
	if a.SessionID != nil && a.RegisteredAt != nil {
		return fmt.Sprintf("`understudy agent resume %d` opens its session again", a.ID)
	}
	return "start another one with `understudy agent start`"
}

// failedAttention is what a failed handoff needs a person for.
func (h *Handoff) failedAttention() Attention {
	again := fmt.Sprintf("`understudy handoff retry %d`", h.ID)
	if h.Error == nil {
		return attention(NeedsRetry, h.endedAt(), "", "its handoff failed", again)
	}
	return attention(NeedsRetry, h.endedAt(), "its handoff failed: ", h.Error.Message, cmp.Or(h.Error.Hint, again))
}

// endedAt is when a handoff ended.
func (h *Handoff) endedAt() time.Time {
	if h.CompletedAt != nil {
		return *h.CompletedAt
	}
	return h.CreatedAt
}

// attention says what a pipeline needs a person for; the zero value: for nothing. A person who has aborted or
// rejected it knows.
func (p *Pipeline) attention(now time.Time) Attention {
	at := "" // the step that it is at
	if i := p.Front(); i < len(p.Steps) {
		at = fmt.Sprintf("step %d of %d, %s", i+1, len(p.Steps), p.Steps[i].AgentName)
	}
	switch {
	case p.Status == PipelineWaiting && at != "":
		return attention(NeedsApproval, p.UpdatedAt, "it waits for your ", "approval of "+at, p.approvalNext())
	case p.Status == PipelineWaiting:
		return attention(NeedsApproval, p.UpdatedAt, "it waits for your ", "approval", p.approvalNext())
	case p.Status == PipelineFailed && p.ErrorCode != CodeAborted && p.ErrorCode != CodeRejected && p.FinishedAt != nil && now.Sub(*p.FinishedAt) < recent:
		next := cmp.Or(p.Hint, fmt.Sprintf("`understudy pipeline resume %d`", p.ID))
		switch {
		case p.Error == nil:
			return attention(NeedsRetry, *p.FinishedAt, "", "it failed", next)
		case at == "":
			return attention(NeedsRetry, *p.FinishedAt, "it failed: ", *p.Error, next)
		}
		return attention(NeedsRetry, *p.FinishedAt, "it failed at "+at+": ", *p.Error, next)
	}
	return Attention{}
}

// approvalNext names what decides about the step that waits for approval.
func (p *Pipeline) approvalNext() string {
	return fmt.Sprintf("look at `understudy pipeline show %d`, then `understudy pipeline approve %[1]d` or `understudy pipeline reject %[1]d`", p.ID)
}
