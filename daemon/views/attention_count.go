package views

import (
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
)

// NeedsReading is the kind of [AttentionPart] for agents that have finished their turn since the operator looked last. They
// need nobody, so there is no [Attention] about them.
const NeedsReading AttentionKind = "finished"

// AttentionPart counts what needs a person for one reason.
type AttentionPart struct {
	Kind  AttentionKind `json:"kind"`
	Count int           `json:"count"`
	Text  string        `json:"text"` // the count with its word: "2 wait"
}

// AttentionCount counts what needs a person. Text is short enough for a status line, and "" if there is nothing.
type AttentionCount struct {
	Text  string          `json:"text"`
	Parts []AttentionPart `json:"parts"` // those whose count is not 0
}

type partWord struct {
	kind      AttentionKind
	one, many string
}

// partWords are the words behind the count of one thing and of several, in the order in which they are shown.
var partWords = []partWord{
	{NeedsAnswer, "waits", "wait"},
	{NeedsApproval, "approval", "approvals"},
	{NeedsDecision, "to decide", "to decide"},
	{NeedsRetry, "failed", "failed"},
	{NeedsHeir, "died", "died"},
	{NeedsLook, "stuck", "stuck"},
	{NeedsCare, "in trouble", "in trouble"},
	{NeedsChoice, "limited", "limited"},
	{NeedsBudget, "held", "held"},
	{NeedsHandoff, "full", "full"},
	{NeedsReading, "finished", "finished"},
}

// Count counts what needs a person. Agents that died together count as many.
func (o *Overview) Count() AttentionCount {
	counts, needy := map[AttentionKind]int{}, map[int64]bool{}
	for _, n := range o.Attention() {
		counts[n.Kind] += max(1, len(n.Together))
		if n.About == AboutAgent {
			needy[n.ID] = true
		}
	}
	for i := range o.Agents {
		if a := &o.Agents[i]; a.Unread && a.State == daemon.Idle && !needy[a.ID] {
			counts[NeedsReading]++
		}
	}
	out := AttentionCount{Parts: []AttentionPart{}}
	var texts []string
	for _, w := range partWords {
		n := counts[w.kind]
		if n == 0 {
			continue
		}
		word := w.many
		if n == 1 {
			word = w.one
		}
		part := AttentionPart{Kind: w.kind, Count: n, Text: fmt.Sprintf("%d %s", n, word)}
		out.Parts = append(out.Parts, part)
		texts = append(texts, part.Text)
	}
	out.Text = strings.Join(texts, ", ")
	return out
}

// Unsettled reports whether one of the agents has not ended yet, has a handoff in progress, or
// works for a pipeline that does not know of its end.
func (o *Overview) Unsettled(ids map[int64]bool) bool {
	for i := range o.Agents {
		if ids[o.Agents[i].ID] {
			return true
		}
	}
	for i := range o.Pipelines {
		if p := &o.Pipelines[i]; p.Status == daemon.PipelineRunning && p.CurrentAgentID != nil && ids[*p.CurrentAgentID] {
			return true
		}
	}
	for i := range o.Handoffs {
		if h := &o.Handoffs[i]; h.Open() && ids[h.AgentID] && h.RecordedAt == nil {
			return true
		}
	}
	return false
}
