package memory

import (
	"context"
	"encoding/json"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/data"
)

// record writes a handoff's record, and replaces an earlier one.
func (t *tx) record() error {
	r := t.c.NewRecord
	if r == nil {
		return nil
	}
	row := kept(*r)
	write(t, &t.records, row.HandoffID, &row)
	return check(
		"records_handoff_id_fkey", t.handoffs.get(row.HandoffID) != nil,
		"records_agent_id_fkey", t.agents.get(row.AgentID) != nil,
	)
}

// Record returns the record of a handoff; [daemon.ErrNotFound] for a handoff without one.
func (s *rowStore) Record(ctx context.Context, handoffID int64) (daemon.Record, error) {
	return one(ctx, &s.view, &s.records, handoffID, "record of handoff %d", nil)
}

// lookBack is how many agents back LineRecords looks for records.
const lookBack = 1000

// before returns the predecessors of an agent in its line, the nearest first. In a circle it returns each agent once.
func (s *rowStore) before(agentID int64) (ids []int64) {
	met := map[int64]bool{agentID: true}
	at := s.agents.get(agentID)
	for range lookBack {
		if at == nil || at.PreviousAgentID == nil {
			break
		}
		id := *at.PreviousAgentID
		if !met[id] {
			met[id] = true
			ids = append(ids, id)
		}
		at = s.agents.get(id)
	}
	return ids
}

// LineRecords returns the newest record of each predecessor of an agent, the nearest predecessor first, without
// Document and Context; 100 if q.Limit is 0. It leaves the messages out of a record once the records before it have
// q.Messages messages, or about q.MessageBytes bytes of messages.
func (s *rowStore) LineRecords(ctx context.Context, q daemon.LineQuery) ([]daemon.Record, error) {
	leave, err := s.enter(ctx, "records before agent %d", q.AgentID)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []daemon.Record{}
	var messages int
	var size int64
	for _, id := range s.before(q.AgentID) {
		if len(out) == limitOr(q.Limit, 100) {
			break
		}
		newest := collect(&s.view, s.records.newest(), 1, func(r *daemon.Record) bool { return r.AgentID == id })
		if len(newest) == 0 {
			continue
		}
		r := newest[0]
		enough := messages >= q.Messages || size >= q.MessageBytes
		messages, size = messages+len(r.Messages), size+sizeOf(r.Messages)
		r.Document, r.Context = "", ""
		if enough {
			r.Messages = []data.Message{}
		}
		out = append(out, r)
	}
	return out, nil
}

func sizeOf(messages []data.Message) int64 {
	raw, err := json.Marshal(messages)
	if err != nil {
		panic(err) // cannot happen: they were stored as JSON
	}
	return int64(len(raw))
}

// LineHandoffs returns the handoffs of an agent, of its predecessors and of all agents after it in its line, the
// newest first; 100 if limit is 0.
func (s *rowStore) LineHandoffs(ctx context.Context, agentID int64, limit int) ([]daemon.Handoff, error) {
	leave, err := s.enter(ctx, "handoffs along the line of agent %d", agentID)
	if err != nil {
		return nil, err
	}
	defer leave()
	line := map[int64]bool{agentID: true}
	for at := s.agents.get(agentID); at != nil && at.PreviousAgentID != nil && !line[*at.PreviousAgentID]; {
		line[*at.PreviousAgentID] = true
		at = s.agents.get(*at.PreviousAgentID)
	}
	after := map[int64]bool{agentID: true}
	for grown := true; grown; {
		grown = false
		for id, a := range s.agents.all() {
			if a.PreviousAgentID != nil && after[*a.PreviousAgentID] && !after[id] {
				after[id], grown = true, true
			}
		}
	}
	return collect(&s.view, s.handoffs.newest(), limitOr(limit, 100), func(h *daemon.Handoff) bool { return line[h.AgentID] || after[h.AgentID] }), nil
}
