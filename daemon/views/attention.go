package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// AttentionKind says in one word why a person is needed. Lists show it as a state.
type AttentionKind string

// The kinds of attention.
const (
	NeedsAnswer   AttentionKind = "waiting"  // a dialog is open in an agent's pane
	NeedsRetry    AttentionKind = "failed"   // a handoff or a pipeline failed
	NeedsDecision AttentionKind = "decision" // the agent of a handoff was given work after it wrote its document
	NeedsCare     AttentionKind = "trouble"  // an agent's turns fail
	NeedsChoice   AttentionKind = "limited"  // an agent has hit a limit, and a person decides what is done about it
	NeedsLook     AttentionKind = "stuck"    // an agent can't be ended, typed to or started; Brief says which
	NeedsBudget   AttentionKind = "held"     // an agent gets no prompts, because the budget of its persona is used up
	NeedsHandoff  AttentionKind = "full"     // an agent's context is nearly full, and it is not handed over by itself
	NeedsHeir     AttentionKind = "died"     // an agent died, and no other agent goes on with its work
	NeedsApproval AttentionKind = "approval" // a pipeline waits for the approval of its next step
)

// What an [Attention] is about.
const (
	AboutAgent    = "agent"
	AboutHandoff  = "handoff" // both agents of the handoff have ended
	AboutPipeline = "pipeline"
)

// Attention says that one agent, handoff or pipeline needs a person, and why. There is at most one Attention about each.
type Attention struct {
	Kind  AttentionKind `json:"kind"`
	About string        `json:"about"` // AboutAgent, AboutHandoff or AboutPipeline
	ID    int64         `json:"id"`    // of the agent, the handoff or the pipeline
	Brief string        `json:"brief"` // why a person is needed, in the few words that a list has room for
	Why   string        `json:"why"`   // the same as one sentence about the agent or the pipeline, without a full stop
	Since time.Time     `json:"since"`
	Next  string        `json:"next"` // what to do next; commands stand between backquotes

	Agent    *daemon.Agent    `json:"agent"`   // if About is AboutHandoff, the outgoing agent; null: its row was not read
	Handoff  *daemon.Handoff  `json:"handoff"` // the handoff that concerns the agent; null: there is none
	Pipeline *daemon.Pipeline `json:"pipeline"`
	// Together holds the ids of several agents that died for one reason, such as the end of their tmux server. There is one
	// Attention about them all, and Agent is the first of them. nil: it is about one thing alone.
	Together []int64 `json:"together,omitempty"`
	// Resumable holds the ids of those agents that died whose sessions can be opened again, as far as is known.
	Resumable []int64 `json:"resumable,omitempty"`
	// Permissions are what an agent asks for and can be answered from here, the oldest first.
	Permissions []daemon.Permission `json:"permissions"`
}

// Overview holds the rows of all work in progress, and of work that has ended lately. [Overview.Attention] decides from
// these rows alone.
type Overview struct {
	At          time.Time
	Agents      []daemon.Agent // agents that have not ended
	Ended       []daemon.Agent // first the agents that ended last, then the other agents of failed handoffs
	Handoffs    []daemon.Handoff
	Pipelines   []daemon.Pipeline
	Permissions []daemon.Permission // those that agents ask for now
	// Auto reports whether the daemon hands an agent over by itself when its context is nearly full, and why not, although automatic
	// handoffs are on. nil: it does not.
	Auto func(*daemon.Agent) (will bool, why string)
}

// Unread returns the ids of agents that have a part in a recently failed handoff, and whose own rows have not been read.
func (o *Overview) Unread() (ids []int64) {
	known := map[int64]bool{}
	for _, a := range slices.Concat(o.Agents, o.Ended) {
		known[a.ID] = true
	}
	for i := range o.Handoffs {
		h := &o.Handoffs[i]
		if h.Phase != daemon.Failed || o.At.Sub(endedAt(h)) >= daemon.Recently {
			continue
		}
		for _, id := range append(h.SuccessorIDs(), h.AgentID) {
			if !known[id] {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Attention returns everything that needs a person. The one that has waited longest comes first; agents that died come after all
// others, because nothing waits for an answer there.
func (o *Overview) Attention() []Attention {
	with, orphans := o.Concerns()
	var out []Attention
	told := map[int64]bool{} // ended agents for which the Attention about their handoff is enough
	for _, h := range with {
		if h.Phase == daemon.Failed {
			for _, id := range h.SuccessorIDs() {
				told[id] = true
			}
		}
	}
	for _, h := range orphans {
		n := failedHandoff(h)
		n.About, n.ID, n.Handoff = AboutHandoff, h.ID, h
		for i := range o.Ended {
			if a := &o.Ended[i]; a.ID == h.AgentID {
				n.Agent = a
			}
		}
		told[h.AgentID] = true
		for _, id := range h.SuccessorIDs() {
			told[id] = true
		}
		out = append(out, n)
	}
	for i := range o.Agents {
		a := &o.Agents[i]
		auto, why := false, ""
		if o.Auto != nil {
			auto, why = o.Auto(a)
		}
		if n := AgentNeeds(a, with[a.ID], auto, why); n.Kind != "" {
			n.About, n.ID, n.Agent, n.Handoff = AboutAgent, a.ID, a, with[a.ID]
			o.addPermissions(&n)
			out = append(out, n)
		}
	}
	out = append(out, o.deaths(told)...)
	for i := range o.Pipelines {
		p := &o.Pipelines[i]
		if n := pipelineNeeds(p, o.At); n.Kind != "" {
			n.About, n.ID, n.Pipeline = AboutPipeline, p.ID, p
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b Attention) int {
		return cmp.Or(a.rank()-b.rank(), a.Since.Compare(b.Since), cmp.Compare(a.About, b.About), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// rank orders attentions before the time since when they wait.
func (n *Attention) rank() int {
	if n.Kind == NeedsHeir {
		return 1
	}
	return 0
}

// addPermissions adds what the agent asks for to an Attention about an agent that waits.
func (o *Overview) addPermissions(n *Attention) {
	if n.Kind != NeedsAnswer {
		return
	}
	for _, p := range slices.Backward(o.Permissions) {
		if p.AgentID == n.ID && p.State == daemon.PermissionOpen {
			n.Permissions = append(n.Permissions, p)
		}
	}
	if len(n.Permissions) > 0 {
		n.Next = fmt.Sprintf("look with `understudy permission show %d`, then `understudy permission allow %[1]d` or `understudy permission deny %[1]d`", n.Permissions[0].ID)
	}
}

// HandoffOf returns, for the id of each active agent, the handoff that concerns the agent: its open handoff or, if its last
// handoff failed, the failed one.
func (o *Overview) HandoffOf() map[int64]*daemon.Handoff {
	with, _ := o.Concerns()
	return with
}

// Concerns returns the map of HandoffOf. As orphans it returns the failed handoffs whose work no active agent continues.
func (o *Overview) Concerns() (with map[int64]*daemon.Handoff, orphans []*daemon.Handoff) {
	active, ended, next, last := map[int64]bool{}, map[int64]*daemon.Agent{}, map[int64]int64{}, map[int64]*daemon.Handoff{}
	for _, list := range [][]daemon.Agent{o.Ended, o.Agents} {
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
	newest := make([]*daemon.Handoff, 0, len(last))
	for _, h := range last {
		newest = append(newest, h)
		if h.SuccessorID != nil {
			next[h.AgentID] = max(next[h.AgentID], *h.SuccessorID)
		}
	}
	slices.SortFunc(newest, func(a, b *daemon.Handoff) int { return cmp.Compare(b.ID, a.ID) })
	with = map[int64]*daemon.Handoff{}
	for _, h := range newest {
		if h.HeirsFirst() && (h.Open() || h.Phase == daemon.Failed) && concernsOneOf(h, active, with) {
			continue
		}
		heir := h.AgentID
		for range len(next) { // no line is longer than next, so the walk ends even if the rows form a circle
			if next[heir] == 0 {
				break
			}
			heir = next[heir]
		}
		mine := heir == h.AgentID || slices.Contains(h.SuccessorIDs(), heir)
		switch {
		case !h.Open() && h.Phase != daemon.Failed, !mine, heir != h.AgentID && last[heir] != nil:
		case active[heir] && with[heir] == nil:
			with[heir] = h
		case active[heir]:
		case active[h.AgentID] && with[h.AgentID] == nil: // the successor has ended, and the outgoing agent has not
			with[h.AgentID] = h
		case h.Phase == daemon.Failed && o.At.Sub(endedAt(h)) < daemon.Recently && liesStill(h, ended[heir], heir):
			orphans = append(orphans, h)
		}
	}
	return with, orphans
}

// concernsOneOf notes a handoff with several heirs, or one that keeps its agent, as that of the first of its agents that is
// active: of the outgoing agent or, if that has ended, of an heir. It reports whether one is active.
func concernsOneOf(h *daemon.Handoff, active map[int64]bool, with map[int64]*daemon.Handoff) bool {
	for _, id := range append([]int64{h.AgentID}, h.SuccessorIDs()...) {
		if active[id] {
			if with[id] == nil {
				with[id] = h
			}
			return true
		}
	}
	return false
}

// liesStill reports whether a person must see to the work of a failed handoff. a is the last agent of the handoff's line,
// which has ended; it is nil if its row was not read. heir is the id of that agent. If a person ended that agent, the person
// has seen to the work. But after the record the handoff itself may have ended the outgoing agent, so its work lies still.
func liesStill(h *daemon.Handoff, a *daemon.Agent, heir int64) bool {
	return a == nil || h.RecordedAt != nil && heir == h.AgentID || a.LeavesWork()
}

// AgentNeeds returns why an active agent needs a person; the zero value, if it needs nobody. h is the handoff that concerns
// the agent. auto and notAuto are of [Overview.Auto]. If there are several reasons, attention returns the reason that holds up the
// others.
func AgentNeeds(a *daemon.Agent, h *daemon.Handoff, auto bool, notAuto string) Attention {
	look := fmt.Sprintf("`understudy agent show %d`", a.ID)
	if a.HasPane() {
		look = fmt.Sprintf("`understudy agent attach %d`", a.ID)
	}
	trouble := a.InTrouble()
	if a.State == daemon.Limited && a.Limit != nil && a.Limit.Do != daemon.LimitAsk {
		trouble = nil // something is done about it
	}
	switch {
	case a.State == daemon.Waiting && a.StopStage != daemon.StopFailed && a.WaitsFor == "":
		return attention(NeedsAnswer, a.StateAt, "", cmp.Or(a.Hold.Words(), "a dialog waits for an answer"), "answer it with "+AnswerWith(a))
	case a.State == daemon.Waiting && a.StopStage != daemon.StopFailed:
		return attention(NeedsAnswer, a.StateAt, "it asks for ", a.WaitsFor, "answer it with "+AnswerWith(a))
	case h != nil && h.Phase == daemon.Failed:
		return failedHandoff(h)
	case a.StopStage == daemon.StopFailed:
		return attention(NeedsLook, *a.StopStageAt, "", "it could not be ended", fmt.Sprintf("end it yourself: see `ps -fp %d`", a.PID))
	case trouble != nil && a.State == daemon.Limited && a.Limit != nil:
		return attention(NeedsChoice, a.Limit.Since, "it ", HasHit(a.Limit), LimitWords(a))
	case trouble != nil:
		return attention(NeedsCare, trouble.Since, "its turns fail: ", trouble.Words(), TroubleHint(a))
	case h != nil && h.AwaitsDecision():
		return attention(needs(h.Hold), cmp.Or(h.PhaseAt, a.StateAt), "", h.Hold.Words(), fmt.Sprintf("`understudy handoff retry %d` or `understudy agent stop %d`", h.ID, a.ID))
	case a.Hold.Is(daemon.HoldBudget):
		return attention(needs(a.Hold), a.StateAt, held, strings.TrimPrefix(a.Hold.Words(), held), budgetNext(a))
	case a.Hold != nil:
		return attention(needs(a.Hold), a.StateAt, "", a.Hold.Words(), "look at it with "+look)
	case h == nil && !auto && a.Context != nil && a.Context.Tier == daemon.TierHigh && a.Persona != nil:
		return attention(NeedsHandoff, a.StateAt, "", "its context is nearly full: hand it over", words.Join(": ", fmt.Sprintf("`understudy handoff %d`", a.ID), notAuto))
	}
	return Attention{}
}

// attention makes an Attention. The caller sets the fields that say what it is about. Why becomes before followed by brief.
func attention(kind AttentionKind, since time.Time, before, brief, next string) Attention {
	return Attention{Kind: kind, Since: since, Brief: brief, Why: before + brief, Next: next, Permissions: []daemon.Permission{}}
}

// held stands before the words of a budget that is used up. A list, which has a column for it, leaves it out.
const held = "held: "

// needs returns why a hold needs a person.
func needs(h *daemon.Hold) AttentionKind {
	switch {
	case h.Is(daemon.HoldBudget):
		return NeedsBudget
	case h.Is(daemon.HoldWorkedOn, daemon.HoldWorkedAside):
		return NeedsDecision
	}
	return NeedsLook
}

// againWords says how a person can go on with the work of an ended agent.
func againWords(a *daemon.Agent) string {
	if a.HasSession() {
		return fmt.Sprintf("`understudy agent resume %d` opens its session again", a.ID)
	}
	return fmt.Sprintf("its session cannot be opened again: start another one with `%s`", StartCommand(a))
}

// failedHandoff returns why a failed handoff needs a person.
func failedHandoff(h *daemon.Handoff) Attention {
	again := fmt.Sprintf("`understudy handoff retry %d`", h.ID)
	if h.Error == nil {
		return attention(NeedsRetry, endedAt(h), "", "its handoff failed", again)
	}
	return attention(NeedsRetry, endedAt(h), "its handoff failed: ", h.Error.Message, cmp.Or(h.Error.Hint, again))
}

// endedAt returns when a handoff ended.
func endedAt(h *daemon.Handoff) time.Time {
	if h.CompletedAt != nil {
		return *h.CompletedAt
	}
	return h.CreatedAt
}

// pipelineNeeds returns why a pipeline needs a person; the zero value, if it needs nobody. It does not report a pipeline that a
// person aborted or rejected, because that person knows.
func pipelineNeeds(p *daemon.Pipeline, now time.Time) Attention {
	at := "" // the step that goes on next
	if i := p.Front(); i < len(p.Steps) {
		at = fmt.Sprintf("step %d of %d, %s", i+1, len(p.Steps), p.Steps[i].AgentName)
	}
	switch s := p.AwaitsWay(); {
	case p.Status == daemon.PipelineWaiting && s != nil:
		return attention(NeedsApproval, p.UpdatedAt, "it waits for you to say which step comes next: ", UndecidedWords(p, s), writtenLine(s)+wayNext(p, s))
	case p.Status == daemon.PipelineWaiting && at != "":
		return attention(NeedsApproval, p.UpdatedAt, "it waits for your ", "approval of "+at, ApprovalNext(p))
	case p.Status == daemon.PipelineWaiting:
		return attention(NeedsApproval, p.UpdatedAt, "it waits for your ", "approval", ApprovalNext(p))
	case p.Status == daemon.PipelineFailed && p.ErrorCode != daemon.CodeAborted && p.ErrorCode != daemon.CodeRejected && p.FinishedAt != nil && now.Sub(*p.FinishedAt) < daemon.Recently:
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

// ApprovalNext names the commands that decide about the step that waits for approval.
func ApprovalNext(p *daemon.Pipeline) string {
	return fmt.Sprintf("look at `understudy pipeline show %d`, then `understudy pipeline approve %[1]d` or `understudy pipeline reject %[1]d`", p.ID)
}
