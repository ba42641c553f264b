package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// metrics requests the metrics, checks that they are well-formed, and returns them by name and labels.
func (h *fixture) metrics() map[string]float64 {
	h.t.Helper()
	got := h.mainDoor().do("GET", "/metrics", "")
	if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain; version=0.0.4") {
		h.t.Fatalf("metrics: %d %s %.200s", got.status, got.header.Get("Content-Type"), got.body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	value(parser.TextToMetricFamilies(bytes.NewReader(got.body)))(h.t)
	series := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(got.body))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		if name += "}"; value == "" {
			name, value, _ = strings.Cut(lines.Text(), " ")
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			series[name] = n
		}
	}
	return series
}

// awaitMetrics waits until the series have these values.
func (h *fixture) awaitMetrics(want map[string]float64) {
	h.t.Helper()
	var last []string
	defer func() {
		if h.t.Failed() {
			h.t.Logf("at last: %s", strings.Join(last, ", "))
		}
	}()
	tmuxtest.Eventually(h.t, fmt.Sprint(want), func() bool {
		got := h.metrics()
		last = nil
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if v, there := got[name]; !there || v != want[name] {
				last = append(last, fmt.Sprintf("%s is %v (%v)", name, v, there))
			}
		}
		return len(last) == 0
	})
}

func eventOf(typ event.Type, host, payload string) *event.Event {
	return &event.Event{Type: typ, Host: host, Payload: json.RawMessage(payload)}
}

func TestMetricsAreClean(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) {
		s.Database = func(context.Context) (DatabaseStats, error) {
			return DatabaseStats{Max: 3, Waits: 4, Waited: time.Minute}, nil
		}
	})
	h.mainDoor().with(hookKeyHeader, "k").do("POST", "/hooks/Stop", "{}")
	problems := value(testutil.GatherAndLint(h.server.meter.registry))(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	explained := string(value(os.ReadFile("../docs/operating.md"))(t))
	for _, family := range value(h.server.meter.registry.Gather())(t) {
		if name, ours := strings.CutPrefix(family.GetName(), "understudy_"); ours && !strings.Contains(explained, "`"+name+"`") {
			t.Errorf("docs/operating.md: add %s to the table of metrics", name)
		}
	}
	got := h.metrics()
	for _, name := range []string{
		`understudy_agents{state="starting"}`, `understudy_agents{state="idle"}`, `understudy_agents{state="working"}`, `understudy_agents{state="waiting"}`,
		`understudy_handoffs{phase="generating"}`, `understudy_pipelines{status="waiting_for_approval"}`, "understudy_agents_longest_wait_seconds",
		`understudy_handoffs_ended_total{status="failed"}`, `understudy_handoff_phase_duration_seconds_bucket{phase="briefing",le="0.005"}`,
		`understudy_handoff_phase_duration_seconds_bucket{phase="briefing",le="900"}`, `understudy_handoff_duration_seconds_count{mode="generate"}`,
		`understudy_deliveries_total{kind="prompt",verdict="unconfirmed"}`, `understudy_pipelines_ended_total{status="failed"}`,
		`understudy_step_duration_seconds_count{status="done"}`, `understudy_notifications_total{channel="desktop"}`, "understudy_spool_hooks",
		"understudy_context_assembly_duration_seconds_count", "understudy_agents_ended_total", "go_goroutines", "process_open_fds",
	} {
		if v, there := got[name]; !there || strings.HasPrefix(name, "understudy_") && v != 0 {
			t.Errorf("%s is %v, there %v; want 0 from the start", name, v, there)
		}
	}
	for name, want := range map[string]float64{
		"understudy_database_up": 1, "understudy_database_max_connections": 3, "understudy_database_acquire_waits_total": 4,
		"understudy_database_acquire_wait_seconds_total": 60, `understudy_database_connections{state="idle"}`: 0,
		`understudy_hooks_received_total{event="Stop",outcome="stored"}`: 1,
	} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s is %v, there %v; want %v", name, v, there, want)
		}
	}
	if ping, there := got["understudy_database_ping_seconds"]; !there || ping <= 0 || ping > 1 {
		t.Errorf("the ping took %v", ping)
	}
}

func TestMetricsCount(t *testing.T) {
	t.Parallel()
	h := build(t, func(s *Server) { // events from before the daemon's start are not counted
		must(t, s.Daemon.Store.Commit(t.Context(), &daemon.Change{Events: []*event.Event{eventOf("agent_ended", "here", "{}")}}))
	})
	h.agent(func(a *daemon.Agent) { a.StateAt = time.Now() })
	h.agent(away)
	h.agent(func(a *daemon.Agent) { a.State, a.Trouble = daemon.Working, &daemon.Trouble{Code: "overloaded"} })
	h.commit(&daemon.Change{Events: []*event.Event{
		eventOf("handoff_recorded", "here", `{"from": "verifying", "phase_ms": 20.5}`),
		eventOf("handoff_completed", "here", `{"from": "briefing", "phase_ms": 700, "mode": "generate", "total_ms": 61000}`),
		eventOf("handoff_failed", "here", `{"phase": "briefing", "phase_ms": 4000, "code": "x"}`),
		eventOf("handoff_cancelled", "here", `{"phase": "requested", "phase_ms": 1}`),
		eventOf("handoff_failed", "elsewhere", `{"phase": "briefing", "phase_ms": 4000}`),
		eventOf("handoff_recorded", "here", `{"from": "made up", "phase_ms": 1, "mode": "made up", "total_ms": 1}`),
		eventOf("handoff_created", "here", `{"assembly_ms": 40}`),
		eventOf("step_done", "here", `{"duration_ms": 90000}`), eventOf("step_failed", "here", `{}`),
		eventOf("pipeline_failed", "here", `"text"`), eventOf("agent_ended", "here", `{}`),
		eventOf("operator_notified", "here", `{"channel": "log"}`), eventOf("operator_notified", "here", `{"channel": "made up"}`),
	}})
	hook := h.hookDoor().with(hookKeyHeader, "k1")
	for range 2 {
		hook.do("POST", "/hooks/session-end", "{}")
	}
	hook.with(hookKeyHeader, "k2").do("POST", "/hooks/MadeUpByMe", "{}")
	hook.with(hookKeyHeader, "k3").do("POST", "/hooks/Stop", `{"session_id": "`+strings.Repeat("x", 300)+`"}`)
	h.mainDoor().do("GET", "/api/madeup", "")
	h.mainDoor().do("GET", "/api/agents/77", "")
	h.mainDoor().do("PUT", "/api/agents/77", "")
	h.tcpDoor().with("Authorization", "Bearer nonsense").do("GET", "/api/agents", "")
	h.awaitMetrics(map[string]float64{
		`understudy_agents{state="idle"}`: 1, `understudy_agents_in_trouble{code="overloaded"}`: 1, "understudy_database_up": 1, "understudy_agents_ended_total": 1,
		`understudy_handoffs_ended_total{status="completed"}`: 1, `understudy_handoffs_ended_total{status="failed"}`: 1,
		`understudy_handoffs_ended_total{status="cancelled"}`:                       1,
		`understudy_handoff_phase_duration_seconds_sum{phase="verifying"}`:          .0205,
		`understudy_handoff_phase_duration_seconds_sum{phase="briefing"}`:           4.7,
		`understudy_handoff_phase_duration_seconds_count{phase="briefing"}`:         2,
		`understudy_handoff_phase_duration_seconds_bucket{phase="briefing",le="1"}`: 1,
		`understudy_handoff_phase_duration_seconds_count{phase="requested"}`:        1,
		`understudy_handoff_duration_seconds_sum{mode="generate"}`:                  61,
		`understudy_handoff_duration_seconds_count{mode="agent"}`:                   0,
		`understudy_context_assembly_duration_seconds_sum`:                          .04,
		`understudy_step_duration_seconds_sum{status="done"}`:                       90,
		`understudy_step_duration_seconds_count{status="failed"}`:                   0,
		`understudy_pipelines_ended_total{status="failed"}`:                         1,
		`understudy_notifications_total{channel="log"}`:                             1,
		`understudy_notifications_total{channel="other"}`:                           2, // and that the hook was refused
		`understudy_hooks_received_total{event="SessionEnd",outcome="stored"}`:      1,
		`understudy_hooks_received_total{event="SessionEnd",outcome="repeated"}`:    1,
		`understudy_hooks_received_total{event="Stop",outcome="refused"}`:           1,
		`understudy_hooks_received_total{event="other",outcome="stored"}`:           1,

		`understudy_http_requests_total{class="2xx",method="POST",route="/hooks/:event"}`:       3,
		`understudy_http_requests_total{class="4xx",method="POST",route="/hooks/:event"}`:       1,
		`understudy_http_request_duration_seconds_count{method="POST",route="/hooks/:event"}`:   4,
		`understudy_http_requests_total{class="4xx",method="GET",route="/api/agents/:id"}`:      1,
		`understudy_http_requests_total{class="4xx",method="none",route="none"}`:                3,
		`understudy_http_request_duration_seconds_count{method="GET",route="/api/agents/:id"}`:  1,
		`understudy_http_request_duration_seconds_bucket{method="none",route="none",le="+Inf"}`: 2,
		`understudy_build_info{go="` + runtime.Version() + `",version="1.2.3"}`:                 1,
	})
	for name := range h.metrics() {
		for _, foreign := range []string{"made", "Made", "nonsense", "77"} {
			if strings.Contains(name, foreign) {
				t.Errorf("%s has a label that somebody made up", name)
			}
		}
	}
}

// flawedLog is an event log whose subscriptions lose most events, and of which every other read fails.
type flawedLog struct {
	*intake.Daemon
	read int
}

func (l *flawedLog) Subscribe() (<-chan *feed.Published, func()) {
	live, stop := l.Daemon.Subscribe()
	flawed := make(chan *feed.Published, 3)
	go func() {
		defer close(flawed)
		for range 3 {
			if e, ok := <-live; ok {
				flawed <- e
			}
		}
	}()
	return flawed, stop
}

func (l *flawedLog) Events(ctx context.Context, f event.Filter) ([]event.Event, error) {
	if l.read++; l.read%2 == 1 {
		return nil, errors.New("away")
	}
	f.Limit = eventsPage
	return l.Daemon.Events(ctx, f)
}

// TestMetricsOfWhoFallsBehind: the meter reads events that its subscription has lost from the log, and counts each once.
func TestMetricsOfWhoFallsBehind(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	const n = 2*eventsPage + 7
	h.events(1, "agent_ended", nil)
	m := newMeter(h.server)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.follow(ctx, &flawedLog{Daemon: h.daemon}, "here")
	}()
	for range 3 {
		h.events(4, "agent_ended", nil)
	}
	c := &daemon.Change{}
	for range n - 13 {
		c.Events = append(c.Events, eventOf("agent_ended", "here", "{}"))
	}
	h.commit(c)
	tmuxtest.Eventually(t, "all are counted", func() bool { return testutil.ToFloat64(m.agentsEnded) >= n })
	h.events(1, "agent_ended", nil)
	tmuxtest.Eventually(t, "the last is counted", func() bool { return testutil.ToFloat64(m.agentsEnded) >= n+1 })
	stop()
	<-done
	equal(t, "counted", testutil.ToFloat64(m.agentsEnded), n+1)
}

// TestMetricsWithoutDatabase: if the database does not answer, the server answers in time with the metrics that need none.
func TestMetricsWithoutDatabase(t *testing.T) {
	t.Parallel()
	h := buildOnPostgres(t, func(s *Server) {
		s.scrapeTimeout = 100 * time.Millisecond
		s.Database = func(ctx context.Context) (DatabaseStats, error) {
			<-ctx.Done() // the database never answers
			return DatabaseStats{Acquired: 2}, ctx.Err()
		}
	})
	h.mainDoor().with(hookKeyHeader, "k").do("POST", "/hooks/Stop", "{}")
	began := time.Now()
	got := h.metrics()
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	h.server.Database = nil // now there are no figures of the pool
	h.away()
	for what, got := range map[string]map[string]float64{"that says nothing": got, "that is gone": h.metrics()} {
		for name, want := range map[string]float64{
			"understudy_database_up": 0, `understudy_hooks_received_total{event="Stop",outcome="stored"}`: 1, "understudy_spool_hooks": 0,
			`understudy_handoffs_ended_total{status="failed"}`: 0, "understudy_feed_readers": 0,
		} {
			if v, there := got[name]; !there || v != want {
				t.Errorf("with a database %s: %s is %v, there %v; want %v", what, name, v, there, want)
			}
		}
		for name := range got {
			if strings.HasPrefix(name, "understudy_agents{") || name == "understudy_database_ping_seconds" {
				t.Errorf("with a database %s: %s is told", what, name)
			}
		}
	}
	equal(t, "the figures of the pool need no database", got[`understudy_database_connections{state="acquired"}`], float64(2))
}
