package stories

import (
	"context"
	"fmt"
	"net"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/understudyd/understudy/daemon"
)

// scraped holds a daemon's metrics by name.
type scraped map[string]*dto.MetricFamily

// scrape reads the daemon's metrics as Prometheus does.
func (r *rig) scrape(ctx context.Context) (scraped, error) {
	response, err := r.fetch(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(response.Body)
}

// fetch gets an address of the daemon's API that the Go client does not know.
func (r *rig) fetch(ctx context.Context, path string) (*http.Response, error) {
	var transport http.RoundTripper = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.dir.Socket())
	}}
	if r.memory != nil {
		transport = r.memory
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(request)
}

// value is the value of a series; of a histogram, its count. -1: there is no such series.
func (s scraped) value(name string, labels ...string) float64 {
	m := s.find(name, labels)
	switch {
	case m == nil:
		return -1
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount())
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	}
	return m.GetGauge().GetValue()
}

// find returns the series whose labels have exactly these values, in the order of the labels' names.
func (s scraped) find(name string, labels []string) *dto.Metric {
	for _, m := range s["understudy_"+name].GetMetric() {
		var got []string
		for _, l := range m.GetLabel() {
			got = append(got, l.GetValue())
		}
		if fmt.Sprint(got) == fmt.Sprint(labels) {
			return m
		}
	}
	return nil
}

// wantMetrics checks the metrics after the only handoff of a daemon.
func (r *rig) wantMetrics(h daemon.Handoff) {
	r.t.Helper()
	var got scraped
	r.await("metrics of the handoff", func() (bool, string) {
		var err error
		if got, err = r.scrape(context.Background()); err != nil {
			return false, err.Error()
		}
		// What follows the event log may be a moment behind.
		return got.value("handoffs_ended_total", "completed") == 1 && got.value("agents_ended_total") == 1, "not counted"
	})
	for phase, ms := range h.Metrics.Phases {
		m := got.find("handoff_phase_duration_seconds", []string{string(phase)}).GetHistogram()
		if sum := m.GetSampleSum() * 1000; m.GetSampleCount() != 1 || sum < float64(ms) || sum >= float64(ms+1) {
			r.t.Errorf("phase %s took %d ms, the metrics say %d times, %v ms", phase, ms, m.GetSampleCount(), sum)
		}
	}
	total := got.find("handoff_duration_seconds", []string{string(h.Mode)}).GetHistogram().GetSampleSum()
	if total != float64(h.Metrics.TotalMS)/1000 || len(h.Metrics.Phases) < 9 {
		r.t.Errorf("the handoff took %d ms in %d phases, the metrics say %v s", h.Metrics.TotalMS, len(h.Metrics.Phases), total)
	}
	for _, want := range []struct {
		n      float64
		name   string
		labels []string
	}{
		{1, "agents", []string{"idle"}}, {0, "agents", []string{"starting"}}, {0, "agents_longest_wait_seconds", nil},
		{0, "handoffs", []string{"briefing"}}, {1, "handoff_duration_seconds", []string{string(h.Mode)}}, {1, "context_assembly_duration_seconds", nil},
		{1, "deliveries_total", []string{"instruction", "submitted"}}, {1, "deliveries_total", []string{"prompt", "submitted"}},
		{1, "deliveries_total", []string{"exit", "submitted"}}, {0, "deliveries_total", []string{"prompt", "unconfirmed"}},
		{2, "hooks_received_total", []string{"SessionStart", "applied"}}, {0, "spool_hooks", nil},
		{1, "database_up", nil}, {1, "http_requests_total", []string{"2xx", "POST", "/api/agents/:id/handoff"}},
	} {
		if n := got.value(want.name, want.labels...); n != want.n {
			r.t.Errorf("%s%v is %v, want %v", want.name, want.labels, n, want.n)
		}
	}
	if ping := got.value("database_ping_seconds"); ping <= 0 || got.value("database_connections", "idle") < 0 {
		r.t.Errorf("the database was not asked: its ping took %v s", ping)
	}
}

// awaitDeliveryCount waits until the metrics count so many deliveries of the kind with the verdict.
func (r *rig) awaitDeliveryCount(n float64, kind daemon.DeliveryKind, verdict daemon.Verdict) {
	r.t.Helper()
	r.await(fmt.Sprintf("%v %s %s", n, kind, verdict), func() (bool, string) {
		got, err := r.scrape(context.Background())
		if err != nil {
			return false, err.Error()
		}
		counted := got.value("deliveries_total", string(kind), string(verdict))
		return counted == n, fmt.Sprint(counted)
	})
}
