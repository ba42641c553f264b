package daemon

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/words"
)

// House is how many agents were at work on a day, and for how long.
type House struct {
	Day   string    `json:"day"` // YYYY-MM-DD, on the daemon's clock
	From  time.Time `json:"from"`
	Until time.Time `json:"until"` // the end of the day, or now
	// Agents are those that lived on the day, those that worked longest first; HouseAgents of them.
	Agents []HouseAgent `json:"agents"`
	Lived  int          `json:"lived"` // how many there were
	// States are working, waiting, limited and idle.
	States []HouseState `json:"states"`
	// Slots are the quarters of an hour of the day until now.
	Slots []HouseSlot `json:"slots"`
	Turns int         `json:"turns"`
	// Whole says that the states of all agents are known for the whole day. If it is false, the log no longer has all of them.
	Whole bool `json:"whole"`
}

// HouseAgent is an agent's day.
type HouseAgent struct {
	ID      int64  `json:"agent_id"`
	Name    string `json:"name"`
	Persona string `json:"persona"`
	Turns   int    `json:"turns"`
	StateTimes
}

// HouseState is one state over the day.
type HouseState struct {
	State   AgentState `json:"state"`
	Seconds float64    `json:"seconds"` // of all agents together
	Agents  int        `json:"agents"`  // how many agents were in it at all
	Most    int        `json:"most"`    // how many were in it at the same time
}

// HouseSlot is a part of a day.
type HouseSlot struct {
	At         time.Time `json:"at"`
	Length     float64   `json:"seconds"`
	StateTimes           // of all agents together
}

// Average returns how many agents were in a state on average.
func (s *HouseSlot) Average(state AgentState) float64 { return s.In(state) / s.Length }

const (
	// HouseAgents is how many agents of a day are listed.
	HouseAgents = 50
	houseSlot   = 15 * time.Minute
	mostOfDay   = 1000 // agents of a day that are counted
	oldestDay   = 366 * 24 * time.Hour
)

// HouseStates are the states that a day counts.
func HouseStates() []AgentState { return []AgentState{Working, Waiting, Limited, Idle} }

// House returns how many agents were at work on a day, given as YYYY-MM-DD; "": today.
func (d *Daemon) House(ctx context.Context, day string) (*House, error) {
	now := d.now()
	from := DayBegins(now, 0)
	if day != "" {
		var err error
		if from, err = DayNamed(day, time.Local); err != nil {
			return nil, Errorf(KindInvalid, CodeInvalidParameter, "day must be a day such as 2006-01-02")
		}
	}
	if from.After(now) || now.Sub(from) > oldestDay {
		return nil, Errorf(KindInvalid, CodeInvalidParameter, "day must be within the last year")
	}
	until := DayBegins(from, 1)
	if now.Before(until) {
		until = now
	}
	out := &House{Day: from.Format(time.DateOnly), From: from.UTC(), Until: until.UTC(), Agents: []HouseAgent{}, States: []HouseState{}, Slots: []HouseSlot{}}
	list, err := d.Store.AgentLives(ctx, LifeQuery{Since: out.From, Until: out.Until, Limit: mostOfDay})
	if err != nil {
		return nil, err
	}
	lives, err := d.lived(ctx, list, out.From, out.Until)
	if err != nil {
		return nil, err
	}
	out.Lived, out.Whole = len(lives), len(lives) < mostOfDay
	for at := out.From; at.Before(out.Until); at = at.Add(houseSlot) {
		out.Slots = append(out.Slots, HouseSlot{At: at, Length: min(houseSlot, out.Until.Sub(at)).Seconds()})
	}
	for i := range lives {
		l := &lives[i]
		out.Whole = out.Whole && l.Whole
		out.Turns += l.Turns
		out.Agents = append(out.Agents, HouseAgent{l.ID, l.Name, l.Persona, l.Turns, l.StateTimes})
		for _, s := range l.Spans {
			out.count(&s)
		}
	}
	for _, state := range HouseStates() {
		out.States = append(out.States, stateOfDay(state, lives))
	}
	slices.SortStableFunc(out.Agents, func(a, b HouseAgent) int { return cmp.Compare(b.Working, a.Working) })
	out.Agents = out.Agents[:min(len(out.Agents), HouseAgents)]
	return out, nil
}

// count adds the seconds of a span to the slots.
func (h *House) count(s *Span) {
	for i := int(s.From.Sub(h.From) / houseSlot); i < len(h.Slots); i++ {
		slot := &h.Slots[i]
		begins, ends := latest(s.From, slot.At), slot.At.Add(houseSlot)
		if s.Until.Before(ends) {
			ends = s.Until
		}
		if !begins.Before(ends) {
			return
		}
		slot.spend(s.State, ends.Sub(begins))
	}
}

// stateOfDay sums up one state of all lives.
func stateOfDay(state AgentState, lives []Life) HouseState {
	out := HouseState{State: state}
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for i := range lives {
		seconds := lives[i].In(state)
		out.Seconds += seconds
		if seconds > 0 {
			out.Agents++
		}
		for _, s := range lives[i].Spans {
			if s.State == state {
				edges = append(edges, edge{s.From, 1}, edge{s.Until, -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, e := range edges {
		n += e.by
		out.Most = max(out.Most, n)
	}
	return out
}

// Spark draws how many agents were in a state over the day, half an hour in each block.
func (h *House) Spark(state AgentState) string {
	top := 1.0
	for i := range h.Slots {
		top = max(top, h.Slots[i].Average(state))
	}
	var shares []float64
	for i := 0; i < len(h.Slots); i += 2 {
		part := h.Slots[i:min(i+2, len(h.Slots))]
		sum := 0.0
		for j := range part {
			sum += part[j].Average(state)
		}
		shares = append(shares, sum/float64(len(part))/top)
	}
	return words.Spark(shares)
}
