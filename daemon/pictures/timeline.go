package pictures

import (
	"context"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// Timeline is what happened to the agents of a line in a span of time.
type Timeline struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Warn and High are the limits of the tiers of the context window, in percent.
	Warn int `json:"warn_percent"`
	High int `json:"high_percent"`
	// Lives are the agents, the oldest first.
	Lives    []Life            `json:"lives"`
	Handoffs []TimelineHandoff `json:"handoffs"` // the oldest first
}

// Life is an agent's part of a timeline.
type Life struct {
	daemon.AgentLife
	Spans   []Span                 `json:"spans"`
	Context []daemon.ContextSample `json:"context"`
	StateTimes
	Turns int `json:"turns"`
	// Whole says that the states of the whole span are known. If it is false, the log has them from the first span on.
	Whole bool `json:"whole"`
}

// Span is how long an agent was in one state.
type Span struct {
	State daemon.AgentState `json:"state"`
	From  time.Time         `json:"from"`
	Until time.Time         `json:"until"`
}

// StateTimes is how long an agent, or several together, were in the states of which people want to know that.
type StateTimes struct {
	Working float64 `json:"working_seconds"`
	Waiting float64 `json:"waiting_seconds"`
	Limited float64 `json:"limited_seconds"`
	Idle    float64 `json:"idle_seconds"`
}

// TimelineHandoff is a handoff in a timeline.
type TimelineHandoff struct {
	ID          int64         `json:"handoff_id"`
	AgentID     int64         `json:"agent_id"`
	SuccessorID *int64        `json:"successor_id"`
	Status      daemon.Status `json:"status"`
	CreatedAt   time.Time     `json:"created_at"`
	CompletedAt *time.Time    `json:"completed_at"` // when it ended, in whatever way
}

// Spans of time that the pictures show.
const (
	Day   = 24 * time.Hour
	Week  = 7 * Day
	Month = 30 * Day
)

const (
	mostLives = 50 // agents in a timeline
	// mostChanges bounds how many changes of state, and samples, one picture reads. Each agent gets its share.
	mostChanges = 40_000
)

// changesEach is how many changes of state a picture reads of each of so many agents.
func changesEach(agents int) int { return mostChanges / max(agents, 1) }

// AgentTimeline returns what happened to the line of an agent in the last span of time.
func (r *Room) AgentTimeline(ctx context.Context, id int64, span time.Duration) (*Timeline, error) {
	a, err := r.env.Agent(ctx, id)
	if err != nil {
		return nil, err
	}
	line, err := r.env.Generations(ctx, &a, mostLives/2-1)
	if err != nil {
		return nil, err
	}
	return r.LineTimeline(ctx, &a, line, span)
}

// LineTimeline returns what happened in the last span of time to an agent and its line, the oldest generation first.
func (r *Room) LineTimeline(ctx context.Context, a *daemon.Agent, line []views.Generation, span time.Duration) (*Timeline, error) {
	q, handoffs := daemon.LifeQuery{}, []daemon.Handoff{}
	for _, g := range slices.Backward(line) {
		q.IDs = append(q.IDs, g.AgentID)
		if g.Handoff != nil {
			handoffs = append(handoffs, *g.Handoff)
		}
	}
	return r.timeline(ctx, q, r.env.FactsFor(a).AutoFor(a), handoffs, span)
}

// timeline returns the timeline of the agents that q selects, and of their handoffs, which come the newest first.
func (r *Room) timeline(ctx context.Context, q daemon.LifeQuery, auto daemon.AutoSettings, handoffs []daemon.Handoff, span time.Duration) (*Timeline, error) {
	now := r.env.Now()
	out := &Timeline{From: now.Add(-span), Until: now, Warn: auto.Warn, High: auto.High, Handoffs: []TimelineHandoff{}}
	q.Since, q.Until, q.Limit = out.From, now.Add(time.Microsecond), mostLives
	lives, err := r.store.AgentLives(ctx, q)
	if err == nil && len(lives) == 0 { // find the last end, however long ago
		q.Since = time.Time{}
		lives, err = r.store.AgentLives(ctx, q)
	}
	if last := lastEnd(lives); err == nil && last != nil {
		out.From, out.Until = last.Add(-span), *last
		q.Since = out.From
		lives, err = r.store.AgentLives(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(lives)
	if len(lives) > 0 {
		first := slices.MinFunc(lives, func(a, b daemon.AgentLife) int { return a.CreatedAt.Compare(b.CreatedAt) })
		out.From = latest(out.From, first.CreatedAt) // before it there is nothing to see
	}
	if out.Lives, err = r.lived(ctx, lives, out.From, out.Until); err != nil {
		return nil, err
	}
	if err := r.sampled(ctx, out); err != nil {
		return nil, err
	}
	for _, h := range slices.Backward(handoffs) {
		if !h.CreatedAt.Before(out.From) && !h.CreatedAt.After(out.Until) {
			out.Handoffs = append(out.Handoffs, TimelineHandoff{ID: h.ID, AgentID: h.AgentID, SuccessorID: h.SuccessorID, Status: h.Status,
				CreatedAt: h.CreatedAt, CompletedAt: h.CompletedAt})
		}
	}
	return out, nil
}

// lastEnd returns when the last of agents ended; nil: one lives, or there is none.
func lastEnd(lives []daemon.AgentLife) (last *time.Time) {
	for i := range lives {
		switch end := lives[i].EndedAt; {
		case end == nil:
			return nil
		case last == nil || end.After(*last):
			last = end
		}
	}
	return last
}

// sampled adds to the lives of a timeline how full their context windows were.
func (r *Room) sampled(ctx context.Context, t *Timeline) error {
	at, q := map[int64]*Life{}, daemon.SpanQuery{Since: t.From, Until: t.Until, Each: changesEach(len(t.Lives))}
	for i := range t.Lives {
		at[t.Lives[i].ID], q.AgentIDs = &t.Lives[i], append(q.AgentIDs, t.Lives[i].ID)
	}
	samples, err := r.store.ContextSamples(ctx, q)
	for _, s := range samples {
		at[s.AgentID].Context = append(at[s.AgentID].Context, s)
	}
	return err
}

// lived adds to the lives what happened in a span of time.
func (r *Room) lived(ctx context.Context, lives []daemon.AgentLife, from, until time.Time) ([]Life, error) {
	out := make([]Life, len(lives))
	at := map[int64]*Life{}
	q := daemon.SpanQuery{Since: from, Until: until, Each: changesEach(len(lives))}
	for i := range lives {
		out[i] = Life{AgentLife: lives[i], Spans: []Span{}, Context: []daemon.ContextSample{}}
		at[lives[i].ID] = &out[i]
		q.AgentIDs = append(q.AgentIDs, lives[i].ID)
	}
	changes, err := r.store.StateChanges(ctx, q)
	if err != nil {
		return nil, err
	}
	by := map[int64][]daemon.StateChange{}
	for _, c := range changes {
		by[c.AgentID] = append(by[c.AgentID], c)
	}
	for id, l := range at {
		l.Spans, l.Whole = spans(&l.AgentLife, by[id], q)
		for _, s := range l.Spans {
			l.spend(s.State, s.Until.Sub(s.From))
		}
		l.Turns = turns(by[id], from)
	}
	return out, nil
}

// spans returns the states of an agent in the span of q, from its changes there and the last one before. whole is false if the
// states of its beginning are not known, because the log has pruned them or there were more than q.Each.
func spans(l *daemon.AgentLife, changes []daemon.StateChange, q daemon.SpanQuery) (out []Span, whole bool) {
	begins, ends := latest(l.CreatedAt, q.Since), q.Until
	if l.EndedAt != nil && l.EndedAt.Before(ends) {
		ends = *l.EndedAt
	}
	if n := len(changes); n > q.Each && changes[0].At.Before(q.Since) {
		changes = changes[1:] // between it and the next one some may be missing
	}
	if n := len(changes); (n == 0 || changes[n-1].State != l.State && !l.StateAt.Before(changes[n-1].At)) && l.StateAt.Before(ends) {
		changes = append(slices.Clone(changes), daemon.StateChange{State: l.State, At: l.StateAt}) // a row whose events are pruned, or of another version
	}
	out = []Span{}
	for i, c := range changes {
		s := Span{State: c.State, From: latest(c.At, begins), Until: ends}
		if i+1 < len(changes) && changes[i+1].At.Before(ends) {
			s.Until = changes[i+1].At
		}
		if last := len(out) - 1; last >= 0 && out[last].State == s.State {
			out[last].Until = s.Until
		} else if s.State != daemon.Ended && s.From.Before(s.Until) {
			out = append(out, s)
		}
	}
	// A session that a person started registers in the state in which it is: its first change is no later than its row.
	return out, len(out) > 0 && !out[0].From.After(begins.Add(time.Minute)) || !begins.Before(ends)
}

// turns counts the turns that began since a time: each change to working that does not end a dialog of a turn.
func turns(changes []daemon.StateChange, since time.Time) (n int) {
	var was daemon.AgentState
	for _, c := range changes {
		if c.State == daemon.Working && was != daemon.Working && was != daemon.Waiting && !c.At.Before(since) {
			n++
		}
		was = c.State
	}
	return n
}

// of returns the sum of a state; nil: it has none.
func (t *StateTimes) of(state daemon.AgentState) *float64 {
	switch state {
	case daemon.Working:
		return &t.Working
	case daemon.Waiting:
		return &t.Waiting
	case daemon.Limited:
		return &t.Limited
	case daemon.Idle:
		return &t.Idle
	}
	return nil
}

func (t *StateTimes) spend(state daemon.AgentState, d time.Duration) {
	if in := t.of(state); in != nil {
		*in += d.Seconds()
	}
}

// In returns how many seconds were spent in a state.
func (t *StateTimes) In(state daemon.AgentState) float64 {
	if in := t.of(state); in != nil {
		return *in
	}
	return 0
}

// Spent adds up all lives.
func (t *Timeline) Spent() (all StateTimes, turns int) {
	for i := range t.Lives {
		l := &t.Lives[i]
		turns += l.Turns
		all.Working, all.Waiting, all.Limited, all.Idle = all.Working+l.Working, all.Waiting+l.Waiting, all.Limited+l.Limited, all.Idle+l.Idle
	}
	return all, turns
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Spark draws the use of an agent's context window over its part of the timeline as a line of blocks, with how long that was;
// "": too little is known.
func (t *Timeline) Spark(agentID int64) string {
	const cells = 24
	i := slices.IndexFunc(t.Lives, func(l Life) bool { return l.ID == agentID })
	if i < 0 {
		return ""
	}
	samples := slices.DeleteFunc(slices.Clone(t.Lives[i].Context), func(s daemon.ContextSample) bool { return s.Percent == nil })
	if len(samples) < 2 {
		return ""
	}
	from, until := latest(samples[0].At, t.From), t.Until
	if end := t.Lives[i].EndedAt; end != nil && end.Before(until) {
		until = *end
	}
	if !from.Before(until) {
		return ""
	}
	shares, at := make([]float64, cells), 0
	for cell := range shares {
		ends := from.Add(until.Sub(from) * time.Duration(cell+1) / cells)
		for at+1 < len(samples) && !samples[at+1].At.After(ends) {
			at++
		}
		shares[cell] = *samples[at].Percent / 100
	}
	return words.Spark(shares) + " in " + words.Took(until.Sub(from))
}
