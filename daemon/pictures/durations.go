package pictures

import (
	"context"
	"slices"

	"github.com/understudyd/understudy/daemon"
)

// Durations compares how long a handoff took in its phases with other handoffs.
type Durations struct {
	Phases   []PhaseDuration `json:"phases"`    // in order; those that the handoff or one of the others was in
	TotalMS  int64           `json:"total_ms"`  // an open handoff: until now
	MedianMS *int64          `json:"median_ms"` // of the others' totals; nil: there are none
	Of       int             `json:"of"`        // how many others: the newest completed ones, at most MostCompared
}

// PhaseDuration is one phase of a handoff.
type PhaseDuration struct {
	Phase    daemon.Phase `json:"phase"`
	MS       int64        `json:"ms"`
	MedianMS *int64       `json:"median_ms"` // of those others that were in the phase; nil: none was
	Of       int          `json:"of"`        // how many others were in the phase
}

// MostCompared is with how many others a handoff is compared.
const MostCompared = 50

// Durations compares the phases of a handoff with those of the newest completed handoffs, without the handoff itself.
func (r *Room) Durations(ctx context.Context, id int64) (Durations, error) {
	h, err := r.env.Handoff(ctx, id)
	if err != nil {
		return Durations{}, err
	}
	return r.DurationsOf(ctx, &h)
}

// DurationsOf is [Room.Durations] for a handoff that was read.
func (r *Room) DurationsOf(ctx context.Context, h *daemon.Handoff) (out Durations, err error) {
	others, err := r.store.CompletedMetrics(ctx, h.ID, MostCompared)
	if err != nil {
		return out, err
	}
	took := func(h *daemon.Handoff, p daemon.Phase) int64 {
		ms := h.Metrics.Phases[p]
		if h.Open() && h.Phase == p {
			ms += max(r.env.Now().Sub(h.PhaseAt).Milliseconds(), 0)
		}
		return ms
	}
	out = Durations{Phases: []PhaseDuration{}, TotalMS: h.Metrics.TotalMS, Of: len(others)}
	if h.Open() {
		out.TotalMS = max(r.env.Now().Sub(h.CreatedAt).Milliseconds(), 0)
	}
	var totals []int64
	for i := range others {
		totals = append(totals, others[i].TotalMS)
	}
	out.MedianMS = median(totals)
	for _, p := range daemon.OpenPhases() {
		one := PhaseDuration{Phase: p, MS: took(h, p)}
		var all []int64
		for i := range others {
			if ms, was := others[i].Phases[p]; was {
				all = append(all, ms)
			}
		}
		one.MedianMS, one.Of = median(all), len(all)
		if _, was := h.Metrics.Phases[p]; was || one.Of > 0 || h.Open() && h.Phase == p {
			out.Phases = append(out.Phases, one)
		}
	}
	return out, nil
}

// median returns the median; nil for an empty list.
func median(of []int64) *int64 {
	if len(of) == 0 {
		return nil
	}
	slices.Sort(of)
	mid := (of[(len(of)-1)/2] + of[len(of)/2]) / 2
	return &mid
}
