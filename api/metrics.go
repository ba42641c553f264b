package api

import (
	"runtime"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudyd/understudy/daemon"
)

// meter holds the metrics of a server, in a registry of its own.
//
// It reads the gauges when Prometheus asks. Counters start at 0 when the process starts. What the event log contains is
// counted from its events (see [meter.follow]); everything else is counted where it happens. The values of labels are only
// our own words, never the text of an agent or an address that a client made up.
type meter struct {
	registry *prometheus.Registry
	last     int64 // id of the newest counted event; only follow uses it

	agentsEnded    prometheus.Counter
	handoffsEnded  *prometheus.CounterVec   // status
	phases         *prometheus.HistogramVec // phase
	handoffs       *prometheus.HistogramVec // mode
	assembly       prometheus.Histogram
	pipelinesEnded *prometheus.CounterVec   // status
	steps          *prometheus.HistogramVec // status
	notifications  *prometheus.CounterVec   // channel
	flooded        *prometheus.CounterVec   // what

	requests *prometheus.CounterVec   // method, route, class
	answers  *prometheus.HistogramVec // method, route
}

// agentStates are the states of agents that have not ended.
var agentStates = []daemon.AgentState{daemon.Starting, daemon.Idle, daemon.Working, daemon.Waiting, daemon.Limited}

// handoffModes are the modes of handoffs.
var handoffModes = []daemon.Mode{daemon.ModeAgent, daemon.ModeGenerate, daemon.ModeTranscript}

// The upper limits of the histograms' buckets, in seconds.
var (
	phaseBuckets    = []float64{.005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}
	handoffBuckets  = []float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600}
	assemblyBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	stepBuckets     = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200}
	answerBuckets   = []float64{.001, .005, .025, .1, .5, 2.5, 10}
)

const sinceStart = ", since the daemon started"

func newMeter(s *Server) *meter {
	m := &meter{
		registry:       prometheus.NewRegistry(),
		agentsEnded:    prometheus.NewCounter(prometheus.CounterOpts{Name: "understudy_agents_ended_total", Help: "Agents that have ended" + sinceStart + "."}),
		handoffsEnded:  counters("handoffs_ended_total", "Handoffs that have ended, by status; one that failed, was retried and completed counts as both", "status"),
		phases:         histograms("handoff_phase_duration_seconds", "How long handoffs were in a phase, however it ended", phaseBuckets, "phase"),
		handoffs:       histograms("handoff_duration_seconds", "How long handoffs took from the request to their completion, by mode", handoffBuckets, "mode"),
		pipelinesEnded: counters("pipelines_ended_total", "Runs of pipelines that have ended, by status; one that failed, was resumed and is done counts as both", "status"),
		steps:          histograms("step_duration_seconds", "How long steps of pipelines took, by how they ended", stepBuckets, "status"),
		flooded:        counters("refused_total", "What was refused because its sender sends too much", "what"),
		notifications:  counters("notifications_total", "What the operator was told, by channel", "channel"),
		assembly: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "understudy_context_assembly_duration_seconds", Help: "How long it took to assemble the context of a handoff" + sinceStart + ".", Buckets: assemblyBuckets,
		}),
		requests: counters("http_requests_total", "Requests that were answered, by the pattern of their route; none: refused before there was one", "method", "route", "class"),
		answers:  histograms("http_request_duration_seconds", "How long answers took, streams left out", answerBuckets, "method", "route"),
	}
	m.registry.MustRegister(m.agentsEnded, m.handoffsEnded, m.phases, m.handoffs, m.pipelinesEnded, m.steps, m.notifications, m.flooded, m.assembly,
		m.requests, m.answers, newScrape(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "understudy_build_info", Help: "The running daemon.", ConstLabels: prometheus.Labels{"version": s.Version, "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(build)
	m.begin()
	return m
}

// begin creates the series that are known in advance, with the value 0. Without that 0, an alert would miss the first
// failure, because a rate needs two points.
func (m *meter) begin() {
	for _, status := range []daemon.Status{daemon.StatusCompleted, daemon.StatusFailed, daemon.StatusCancelled} {
		m.handoffsEnded.WithLabelValues(string(status))
	}
	for _, phase := range daemon.OpenPhases() {
		m.phases.WithLabelValues(string(phase))
	}
	for _, mode := range handoffModes {
		m.handoffs.WithLabelValues(string(mode))
	}
	for _, status := range []daemon.PipelineStatus{daemon.PipelineDone, daemon.PipelineFailed} {
		m.pipelinesEnded.WithLabelValues(string(status))
	}
	for _, status := range []daemon.StepStatus{daemon.StepDone, daemon.StepFailed} {
		m.steps.WithLabelValues(string(status))
	}
	for _, what := range []load{loadHooks, loadRequests, loadContext, loadConnections} {
		m.flooded.WithLabelValues(string(what))
	}
	for _, channel := range channels {
		m.notifications.WithLabelValues(channel)
	}
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "understudy_" + name, Help: help + sinceStart + "."}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "understudy_" + name, Help: help + sinceStart + ".", Buckets: buckets}, labels)
}

// showMetrics answers in the text format of Prometheus. It leaves out the metrics that it cannot read.
func (s *Server) showMetrics(c echo.Context) error {
	promhttp.HandlerFor(s.meter.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(c.Response(), c.Request())
	return nil
}

// noRoute is the label of requests without a route, and of requests that were refused before they were routed.
const noRoute = "none"

// measured counts and times the answers of each route.
func (s *Server) measured(routes []route) echo.MiddlewareFunc {
	known := map[string]bool{}
	for _, r := range routes {
		known[r.method+" "+r.path] = true
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			began := time.Now()
			if err := next(c); err != nil {
				c.Error(err) // answer now, so that the status is known here
			}
			method, path := c.Request().Method, c.Path()
			if !known[method+" "+path] {
				method, path = noRoute, noRoute
			}
			s.meter.answered(method, path, c.Response().Status)
			if c.Response().Header().Get("Content-Type") != "text/event-stream" {
				s.meter.answers.WithLabelValues(method, path).Observe(time.Since(began).Seconds())
			}
			return nil
		}
	}
}

func (m *meter) answered(method, path string, status int) {
	class := "other"
	if 100 <= status && status < 600 {
		class = string(rune('0'+status/100)) + "xx"
	}
	m.requests.WithLabelValues(method, path, class).Inc()
}
