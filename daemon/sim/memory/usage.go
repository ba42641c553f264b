package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/storetext"
)

// counted is an answer of a model that was counted.
type counted struct {
	runtimes.Usage
	agentID, pipelineID    int64 // pipelineID 0: none
	runtime, host, persona string
}

// usage holds what agents have used. Its keys are those of the database's tables.
type usage struct {
	answers map[[2]string]counted
	reads   map[[2]string]daemon.UsageRead
	marks   map[daemon.BudgetMark]time.Time // the keys have no time
}

func newUsage() usage {
	return usage{map[[2]string]counted{}, map[[2]string]daemon.UsageRead{}, map[daemon.BudgetMark]time.Time{}}
}

// AddUsage counts answers and notes how far their source was read.
func (s *Store) AddUsage(ctx context.Context, in daemon.UsageAdded) error {
	leave, err := s.enter(ctx, "agent %d: usage", in.Agent.ID)
	if err != nil {
		return err
	}
	defer leave()
	r := in.Read
	r.Host, r.Path, r.Model, r.AgentID = storetext.Text(r.Host), storetext.Text(r.Path), storetext.Text(r.Model), in.Agent.ID
	if was, ok := s.usage.reads[[2]string{r.Host, r.Path}]; ok && was.ReadTo != in.From {
		return fmt.Errorf("agent %d: usage: %w", in.Agent.ID, daemon.ErrMoved)
	}
	if s.agents.get(in.Agent.ID) == nil {
		return fmt.Errorf("agent %d: usage: %w", in.Agent.ID, violation("usage_read_agent_id_fkey"))
	}
	s.usage.reads[[2]string{r.Host, r.Path}] = r
	for _, u := range in.Answers {
		u.Key, u.Model, u.At = storetext.Text(u.Key), storetext.Text(u.Model), micros(u.At)
		if u.Micros != nil {
			u.Micros = new(*u.Micros)
		}
		c := counted{Usage: u, agentID: in.Agent.ID, runtime: in.Agent.Runtime, host: r.Host, persona: in.Agent.PersonaSlug()}
		if in.Agent.PipelineID != nil {
			c.pipelineID = *in.Agent.PipelineID
		}
		if was, ok := s.usage.answers[[2]string{c.runtime, u.Key}]; ok {
			was.greater(&u)
			c = was
		}
		s.usage.answers[[2]string{c.runtime, u.Key}] = c
	}
	return nil
}

// greater keeps the greater of both numbers of each kind.
func (c *counted) greater(u *runtimes.Usage) {
	c.Input, c.Output, c.CacheRead = max(c.Input, u.Input), max(c.Output, u.Output), max(c.CacheRead, u.CacheRead)
	c.CacheWrite, c.Reasoning = max(c.CacheWrite, u.CacheWrite), max(c.Reasoning, u.Reasoning)
	if u.Micros != nil && (c.Micros == nil || *c.Micros < *u.Micros) {
		c.Micros = u.Micros
	}
}

// sources carries out what a change says about usage and budgets.
func (t *tx) sources() error {
	for _, r := range t.c.UsageReads {
		key := [2]string{storetext.Text(r.Host), storetext.Text(r.Path)}
		if _, ok := t.usage.reads[key]; ok {
			continue
		}
		if t.agents.get(r.AgentID) == nil {
			return violation("usage_read_agent_id_fkey")
		}
		t.usage.reads[key] = daemon.UsageRead{Host: key[0], Path: key[1], AgentID: r.AgentID}
		t.undo = append(t.undo, func() { delete(t.usage.reads, key) })
	}
	for _, m := range t.c.BudgetMarks {
		key := *m
		key.At, key.Host, key.Persona, key.Budget = time.Time{}, storetext.Text(m.Host), storetext.Text(m.Persona), storetext.Text(m.Budget)
		if _, ok := t.usage.marks[key]; ok {
			t.refuse(fmt.Errorf("budget of %s: %w", m.Persona, daemon.ErrMoved))
			continue
		}
		t.usage.marks[key] = t.at
		t.undo = append(t.undo, func() { delete(t.usage.marks, key) })
	}
	return nil
}

// forget deletes what an agent has used.
func (u *usage) forget(agentID int64) {
	maps.DeleteFunc(u.answers, func(_ [2]string, c counted) bool { return c.agentID == agentID })
	maps.DeleteFunc(u.reads, func(_ [2]string, r daemon.UsageRead) bool { return r.AgentID == agentID })
}

// UsageReads returns how far the sources of an agent were read, and those of the host with one of the paths.
func (s *Store) UsageReads(ctx context.Context, host string, agentID int64, paths []string) ([]daemon.UsageRead, error) {
	leave, err := s.enter(ctx, "what was read of usage")
	if err != nil {
		return nil, err
	}
	defer leave()
	named := map[string]bool{}
	for _, path := range paths {
		named[storetext.Text(path)] = true
	}
	out := []daemon.UsageRead{}
	for _, r := range s.usage.reads {
		if r.Host == storetext.Text(host) && (r.AgentID == agentID || named[r.Path]) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b daemon.UsageRead) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// UsageSums returns sums of answers.
func (s *Store) UsageSums(ctx context.Context, q daemon.UsageQuery) ([]daemon.UsageSum, error) {
	leave, err := s.enter(ctx, "usage")
	if err != nil {
		return nil, err
	}
	defer leave()
	type key struct {
		agentID, pipelineID int64
		persona, runtime    string
		day                 int
	}
	sums := map[key]*daemon.UsageSum{}
	since := micros(q.Since)
	for _, c := range s.usage.answers {
		if len(q.AgentIDs) > 0 && !slices.Contains(q.AgentIDs, c.agentID) || q.Persona != "" && q.Persona != c.persona ||
			q.PipelineID != 0 && q.PipelineID != c.pipelineID || q.Host != "" && q.Host != c.host || c.At.Before(since) {
			continue
		}
		k := key{c.agentID, c.pipelineID, c.persona, c.runtime, 0}
		for _, day := range q.Days {
			if !c.At.Before(micros(day)) {
				k.day++
			}
		}
		sum := sums[k]
		if sum == nil {
			sum = &daemon.UsageSum{AgentID: k.agentID, Persona: k.persona, Runtime: k.runtime, Day: k.day}
			if k.pipelineID != 0 {
				sum.PipelineID = &k.pipelineID
			}
			sums[k] = sum
		}
		sum.Add(c.Tokens)
		if c.Micros != nil {
			total := *c.Micros
			if sum.Micros != nil {
				total += *sum.Micros
			}
			sum.Micros = &total
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.agentID, b.agentID), cmp.Compare(a.persona, b.persona), cmp.Compare(a.runtime, b.runtime),
			cmp.Compare(a.pipelineID, b.pipelineID), cmp.Compare(a.day, b.day))
	})
	out := []daemon.UsageSum{}
	for _, k := range keys {
		out = append(out, *sums[k])
	}
	return out, nil
}

// BudgetMarks returns what was told and decided about a host's budgets since a day.
func (s *Store) BudgetMarks(ctx context.Context, host, since string) ([]daemon.BudgetMark, error) {
	leave, err := s.enter(ctx, "budgets")
	if err != nil {
		return nil, err
	}
	defer leave()
	out := []daemon.BudgetMark{}
	for m, at := range s.usage.marks {
		if m.Host == host && m.Day >= since {
			m.At = at
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b daemon.BudgetMark) int {
		return cmp.Or(cmp.Compare(a.Persona, b.Persona), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Mark, b.Mark), cmp.Compare(a.Budget, b.Budget))
	})
	return out, nil
}
