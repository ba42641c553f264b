package stories

import (
	"context"
	"fmt"
	"net"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scraped holds a daemon's metrics by name.
type scraped map[string]*dto.MetricFamily

// scrape reads the daemon's metrics as Prometheus does.
func scrape(r *rig, ctx context.Context) (scraped, error) {
	response, err := fetch(r, ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(response.Body)
}

// fetch gets an address of the daemon's API that the Go client does not know.
func fetch(r *rig, ctx context.Context, path string) (*http.Response, error) {
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
