package pictures

import (
	"context"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// PipelineTimeline is a pipeline's run in time: a row for each step of its template, with all rounds.
type PipelineTimeline struct {
	From  time.Time      `json:"from"`
	Until time.Time      `json:"until"`
	Rows  []PipelineRow  `json:"steps"`
	Gates []PipelineGate `json:"gates"`
}

// PipelineRow is a step of the template.
type PipelineRow struct {
	Number int               `json:"number"` // from 1
	Agent  string            `json:"agent_name"`
	Rounds int               `json:"rounds"` // how often the work has come to it
	Status daemon.StepStatus `json:"status"` // of the last round
	Spans  []PipelineSpan    `json:"spans"`
}

// PipelineSpan is what a step did, or waited for, in one round.
type PipelineSpan struct {
	State PipelineSpanState `json:"state"`
	Round int               `json:"round"`
	From  time.Time         `json:"from"`
	Until time.Time         `json:"until"`
}

// PipelineSpanState says what a step does.
type PipelineSpanState string

// What a step does.
const (
	SpanQueued   PipelineSpanState = "queued"   // it waits for its turn, for its agent, or for somebody to resume the pipeline
	SpanApproval PipelineSpanState = "approval" // it waits for a person's approval
	SpanWorking  PipelineSpanState = "working"
	SpanWaiting  PipelineSpanState = "waiting" // its agent waits for a person
)

// PipelineGate is an approval.
type PipelineGate struct {
	Number  int        `json:"number"` // of the step
	Round   int        `json:"round"`
	At      *time.Time `json:"at"` // when it was approved; nil: not yet, or it was rejected
	Comment string     `json:"comment"`
}

// PipelineTimeline returns a pipeline's run in time.
func (r *Room) PipelineTimeline(ctx context.Context, id int64) (*PipelineTimeline, error) {
	p, err := r.env.Pipeline(ctx, id)
	if err != nil {
		return nil, err
	}
	return r.PipelineTimelineOf(ctx, &p)
}

// PipelineTimelineOf is [Room.PipelineTimeline] for a pipeline that was read.
func (r *Room) PipelineTimelineOf(ctx context.Context, p *daemon.Pipeline) (*PipelineTimeline, error) {
	out := &PipelineTimeline{From: p.CreatedAt, Until: r.env.Now(), Rows: []PipelineRow{}, Gates: []PipelineGate{}}
	if p.FinishedAt != nil {
		out.Until = *p.FinishedAt
	}
	waits, err := r.waitsOfSteps(ctx, p, out)
	if err != nil {
		return nil, err
	}
	rows, free := map[int]int{}, p.CreatedAt // free: since when a step may begin
	for i := range p.Steps {
		s := &p.Steps[i]
		at, ok := rows[s.Number]
		if !ok {
			at = len(out.Rows)
			rows[s.Number] = at
			out.Rows = append(out.Rows, PipelineRow{Number: s.Number, Agent: s.AgentName, Spans: []PipelineSpan{}})
		}
		row := &out.Rows[at]
		row.Rounds, row.Status = max(row.Rounds, s.Round), s.Status
		if s.Status == daemon.StepSkipped || i > p.Front() {
			continue
		}
		row.Spans = append(row.Spans, stepSpans(p, s, free, out.Until)...)
		for _, w := range waits[s.ID] {
			row.Spans = append(row.Spans, PipelineSpan{SpanWaiting, s.Round, w.From, w.Until})
		}
		if s.Approval {
			out.Gates = append(out.Gates, PipelineGate{Number: s.Number, Round: s.Round, At: s.ApprovedAt, Comment: s.Comment})
		}
		if s.FinishedAt != nil {
			free = *s.FinishedAt
		}
	}
	return out, nil
}

// stepSpans returns what a step that the work has come to did since it was free to begin.
func stepSpans(p *daemon.Pipeline, s *daemon.Step, free, until time.Time) (out []PipelineSpan) {
	add := func(state PipelineSpanState, from, to time.Time) {
		if from.Before(to) {
			out = append(out, PipelineSpan{state, s.Round, from, to})
		}
	}
	begins, works := free, until
	if s.StartedAt != nil {
		works = *s.StartedAt
	} else if s.FinishedAt != nil {
		works = *s.FinishedAt // it was rejected, or could not begin
	}
	if s.Approval && (s.AskedAt != nil || s.ApprovedAt != nil || p.Status == daemon.PipelineWaiting) {
		approved := works
		if s.ApprovedAt != nil {
			approved = *s.ApprovedAt
		}
		add(SpanApproval, begins, approved)
		begins = approved
	}
	add(SpanQueued, begins, works)
	if s.StartedAt != nil {
		ends := until
		if s.FinishedAt != nil {
			ends = *s.FinishedAt
		}
		add(SpanWorking, works, ends)
	}
	return out
}

// waitsOfSteps returns when the agents of a pipeline waited for a person, by their steps.
func (r *Room) waitsOfSteps(ctx context.Context, p *daemon.Pipeline, t *PipelineTimeline) (map[int64][]Span, error) {
	step, q := map[int64]*daemon.Step{}, daemon.LifeQuery{Since: t.From, Until: t.Until, Limit: mostLives}
	for i := range p.Steps {
		for _, id := range p.Steps[i].AgentIDs {
			step[id], q.IDs = &p.Steps[i], append(q.IDs, id)
		}
	}
	out := map[int64][]Span{}
	if len(q.IDs) == 0 {
		return out, nil
	}
	list, err := r.store.AgentLives(ctx, q)
	if err != nil {
		return nil, err
	}
	lives, err := r.lived(ctx, list, t.From, t.Until)
	for i := range lives {
		s := step[lives[i].ID]
		for _, span := range lives[i].Spans {
			if s.FinishedAt != nil && s.FinishedAt.Before(span.Until) {
				span.Until = *s.FinishedAt
			}
			if span.State == daemon.Waiting && span.From.Before(span.Until) {
				out[s.ID] = append(out[s.ID], span)
			}
		}
	}
	return out, err
}
