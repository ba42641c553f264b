package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
)

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status  string `json:"status"` // "ok" or "ready"
	Version string `json:"version"`
}

// showHealth says that the process answers, and nothing about what it needs.
func (s *Server) showHealth(c echo.Context) error {
	return reply(c, http.StatusOK, Health{"ok", s.Version}, nil)
}

// showReady says whether the database and tmux answer.
func (s *Server) showReady(c echo.Context) error {
	err := s.Daemon.Ready(c.Request().Context())
	if status, _, fault := verdict(err); err != nil && (fault || status != http.StatusServiceUnavailable) {
		err = &daemon.Error{
			Kind: daemon.KindUnavailable, Code: "not_ready", Cause: err,
			Message: "The database or tmux does not answer; run `understudy doctor`",
		}
	}
	return reply(c, http.StatusOK, Health{"ready", s.Version}, err)
}

// endedHandoffs counts the handoffs that have ended, by the log. It reads each event once.
type endedHandoffs struct {
	mu       sync.Mutex
	last     int64 // id of the newest event that is counted
	byStatus map[daemon.Status]int
}

const eventsPage = 500

// read takes in what has been logged since the last time and returns the counts.
func (e *endedHandoffs) read(ctx context.Context, d *daemon.Daemon) (map[daemon.Status]int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	counts := map[daemon.Status]int{daemon.StatusCompleted: 0, daemon.StatusFailed: 0, daemon.StatusCancelled: 0}
	var types []string
	for status := range counts {
		types = append(types, "handoff_"+string(status))
		counts[status] = e.byStatus[status]
	}
	for {
		events, err := d.Events(ctx, daemon.EventFilter{After: e.last, Types: types, Limit: eventsPage})
		if err != nil {
			return nil, err
		}
		for _, event := range events {
			counts[daemon.Status(strings.TrimPrefix(event.Type, "handoff_"))]++
			e.last = event.ID
		}
		e.byStatus = counts
		if len(events) < eventsPage {
			return counts, nil
		}
	}
}

// showMetrics answers in the text format of Prometheus. Gauges count what is active or open,
// which is never much; what has ended is a counter.
func (s *Server) showMetrics(c echo.Context) error {
	ctx := c.Request().Context()
	agents, err := s.activeAgents(ctx)
	if err != nil {
		return err
	}
	open, err := s.openHandoffs(ctx)
	if err != nil {
		return err
	}
	ended, err := s.ended.read(ctx, s.Daemon)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	metric(&b, "understudy_build_info", "gauge", "The running daemon.")
	fmt.Fprintf(&b, "understudy_build_info{version=%q,go=%q} 1\n", s.Version, runtime.Version())
	metric(&b, "understudy_agents", "gauge", "Agents that have not ended, by state.")
	for _, state := range []daemon.AgentState{daemon.Starting, daemon.Idle, daemon.Working, daemon.Waiting} {
		fmt.Fprintf(&b, "understudy_agents{state=%q} %d\n", state, agents[state])
	}
	metric(&b, "understudy_handoffs", "gauge", "Handoffs that have not ended, by status.")
	for _, status := range []daemon.Status{daemon.StatusPending, daemon.StatusInProgress} {
		fmt.Fprintf(&b, "understudy_handoffs{status=%q} %d\n", status, open[status])
	}
	metric(&b, "understudy_handoffs_ended_total", "counter", "Handoffs that have ended, by status; one that failed, was retried and completed counts as both.")
	for _, status := range []daemon.Status{daemon.StatusCompleted, daemon.StatusFailed, daemon.StatusCancelled} {
		fmt.Fprintf(&b, "understudy_handoffs_ended_total{status=%q} %d\n", status, ended[status])
	}
	metric(&b, "understudy_feed_subscribers", "gauge", "Readers of the event feed.")
	fmt.Fprintf(&b, "understudy_feed_subscribers %d\n", s.subscribers.Load())
	return c.Blob(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", b.Bytes())
}

func metric(b *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (s *Server) activeAgents(ctx context.Context) (map[daemon.AgentState]int, error) {
	counts := map[daemon.AgentState]int{}
	filter := daemon.AgentFilter{Active: true, Limit: maxLimit}
	for {
		agents, err := s.Daemon.Agents(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, a := range agents {
			counts[a.State]++
			filter.Before = a.ID
		}
		if len(agents) < maxLimit {
			return counts, nil
		}
	}
}

func (s *Server) openHandoffs(ctx context.Context) (map[daemon.Status]int, error) {
	counts := map[daemon.Status]int{}
	filter := daemon.HandoffFilter{Open: true, Limit: maxLimit}
	for {
		handoffs, err := s.Daemon.Handoffs(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, h := range handoffs {
			counts[h.Status]++
			filter.Before = h.ID
		}
		if len(handoffs) < maxLimit {
			return counts, nil
		}
	}
}
