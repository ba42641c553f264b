package notices

import (
	"context"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/tell"
)

// TargetReport is one target of notifications beside the desktop, and how it does. It has no address and no secret.
type TargetReport struct {
	Name         string     `json:"name"`
	Type         string     `json:"type"`
	Levels       []string   `json:"levels"`
	Types        []string   `json:"types"` // empty: all
	IncludeText  bool       `json:"include_text"`
	State        string     `json:"state"`       // "unused", "ok", "retrying" or "down"
	Waiting      int        `json:"waiting"`     // notifications that are neither sent nor given up
	MaybeTwice   int        `json:"maybe_twice"` // notifications that may have arrived twice
	LastSentAt   *time.Time `json:"last_sent_at"`
	LastFailedAt *time.Time `json:"last_failed_at"` // when a notification was last given up
	LastError    *string    `json:"last_error"`
}

// Targets returns the targets of this host's settings, in the order of their names.
func (r *Room) Targets(ctx context.Context) ([]TargetReport, error) {
	reports, err := r.store.PushReports(ctx, r.env.Host)
	if err != nil {
		return nil, fmt.Errorf("targets of notifications: %w", err)
	}
	out := []TargetReport{}
	for i := range r.targets {
		route := &r.targets[i]
		r := TargetReport{Name: route.Name, Type: route.Kind, Levels: route.Levels, Types: route.Types, IncludeText: route.IncludeText, State: "unused"}
		if len(r.Levels) == 0 {
			r.Levels = tell.Levels()
		}
		if r.Types == nil {
			r.Types = []string{}
		}
		for j := range reports {
			if reports[j].Target == r.Name {
				r.fill(&reports[j])
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fill takes over what the rows say.
func (r *TargetReport) fill(rows *tell.PushReport) {
	r.Waiting, r.MaybeTwice, r.LastSentAt, r.LastFailedAt = rows.Open, rows.Twice, rows.SentAt, rows.FailedAt
	if rows.Error != "" {
		r.LastError = &rows.Error
	}
	switch {
	case rows.Down():
		r.State = "down"
	case rows.Retrying:
		r.State = "retrying"
	case rows.SentAt != nil:
		r.State = "ok"
	}
}

// TestTarget sends a test notification to a target now, once, whatever the target is told otherwise.
func (r *Room) TestTarget(ctx context.Context, name string) (Tested, error) {
	route := r.pusher.Route(name)
	if route == nil {
		return Tested{}, daemon.Errorf(daemon.KindNotFound, daemon.CodeTargetNotFound, "There is no target %.64q: notify.targets in config.yaml names the targets", name)
	}
	err := r.pusher.SendNow(ctx, route, tell.Message{
		Title: "understudy: test", Text: "This is how you will be told.", Level: "test",
	})
	if err != nil {
		why := err.Error()
		return Tested{Channel: name, Error: &why}, nil
	}
	return Tested{Channel: name}, nil
}
