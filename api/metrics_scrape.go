package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
)

// DatabaseStats are the figures of the pool of database connections.
type DatabaseStats struct {
	Idle, Acquired, Constructing, Max int
	Waits                             int64 // how often a caller had to wait because no connection was idle
	Waited                            time.Duration
}

// scrape reads the gauges, and the counters that the meter does not keep, each time Prometheus asks. Each time it sends the
// database a ping and a few queries.
type scrape struct {
	server *Server
	descs  map[string]*prometheus.Desc // by name
}

func newScrape(s *Server) *scrape {
	out := &scrape{s, map[string]*prometheus.Desc{}}
	for _, d := range []struct {
		name, help string
		labels     []string
	}{
		{"agents", "Agents of this host that have not ended, by state", []string{"state"}},
		{"agents_in_trouble", "Agents of this host that have not ended and whose newest turn to end has failed by their runtime, by the code of the trouble", []string{"code"}},
		{"agents_longest_wait_seconds", "How long that agent of this host has waited for a person that has waited longest; 0: none waits", nil},
		{"handoffs", "Handoffs of this host that have not ended, by phase", []string{"phase"}},
		{"pipelines", "Runs of this host that have not ended, by status", []string{"status"}},
		{"deliveries_total", "Texts for agents that have got their verdict, by kind" + sinceStart, []string{"kind", "verdict"}},
		{"hooks_received_total", "Hooks of agents by what became of them" + sinceStart, []string{"event", "outcome"}},
		{"spool_hooks", "Hooks that wait in the spool", nil},
		{"feed_readers", "Readers of the event feed", nil},
		{"feed_events_sent_total", "Events that were sent to readers of the feed" + sinceStart, nil},
		{"feed_readers_dropped_total", "Readers of the feed that were cut off because they fell behind" + sinceStart, nil},
		{"tokens_today", "Tokens that agents of this host have used since local midnight, by persona and kind; reasoning is within output", []string{"persona", "kind"}},
		{"cost_usd_today", "Cost in US dollars that the runtimes of this host's agents have reported since local midnight, by persona", []string{"persona"}},
		{"budget_used_ratio", "How much of a persona's daily budget is used on this host; from 1 on its agents are held", []string{"persona"}},
		{"database_up", "Whether the database answers", nil},
		{"database_ping_seconds", "How long the database took to answer", nil},
		{"database_connections", "Connections of the pool, by state", []string{"state"}},
		{"database_max_connections", "How many connections the pool may have", nil},
		{"database_acquire_waits_total", "How often a connection was waited for, because none was idle" + sinceStart, nil},
		{"database_acquire_wait_seconds_total", "How long connections were waited for, because none was idle" + sinceStart, nil},
	} {
		out.descs[d.name] = prometheus.NewDesc("understudy_"+d.name, d.help+".", d.labels, nil)
	}
	return out
}

// Describe sends the description of each metric that Collect may send.
func (s *scrape) Describe(to chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		to <- d
	}
}

// reading is one answer to Prometheus.
type reading struct {
	*scrape
	to chan<- prometheus.Metric
}

func (r reading) gauge(name string, v float64, labels ...string) {
	r.to <- prometheus.MustNewConstMetric(r.descs[name], prometheus.GaugeValue, v, labels...)
}

func (r reading) counter(name string, v float64, labels ...string) {
	r.to <- prometheus.MustNewConstMetric(r.descs[name], prometheus.CounterValue, v, labels...)
}

// Collect sends all metrics. If the database does not answer, it sends only the metrics that need no database.
func (s *scrape) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(s.server.streams, s.server.scrapeTimeout)
	defer cancel()
	r := reading{s, to}
	r.daemon()
	r.feed()
	r.gauge("database_up", r.database(ctx))
}

// database sends the metrics of the database. It returns 1 if the database answers, and 0 if it does not.
func (r reading) database(ctx context.Context) float64 {
	if r.server.Database != nil {
		began := time.Now()
		stats, err := r.server.Database(ctx)
		r.pool(stats)
		if err != nil {
			return 0
		}
		r.gauge("database_ping_seconds", time.Since(began).Seconds())
	}
	census, err := r.server.Daemon.Census(ctx)
	if err != nil {
		r.server.Log.Debug("metrics lack what is in the database", "error", err)
		return 0
	}
	r.census(census)
	if err := r.usage(ctx); err != nil {
		r.server.Log.Debug("metrics lack what agents have used", "error", err)
		return 0
	}
	return 1
}

// usage sends what the personas of this host have used today.
func (r reading) usage(ctx context.Context) error {
	today, budgets, err := r.server.Usage.UsageToday(ctx)
	if err != nil {
		return err
	}
	for i := range today {
		row := &today[i]
		for kind, n := range map[string]int64{"input": row.Tokens.Input, "output": row.Tokens.Output, "cache_read": row.Tokens.CacheRead,
			"cache_write": row.Tokens.CacheWrite, "reasoning": row.Tokens.Reasoning} {
			r.gauge("tokens_today", float64(n), row.Of, kind)
		}
		if row.CostUSD != nil {
			r.gauge("cost_usd_today", *row.CostUSD, row.Of)
		}
	}
	for i := range budgets {
		r.gauge("budget_used_ratio", budgets[i].Percent/100, budgets[i].Persona)
	}
	return nil
}

func (r reading) census(c daemon.Census) {
	for _, state := range agentStates {
		r.gauge("agents", float64(c.Agents[state]), string(state))
	}
	for _, code := range daemon.TroubleCodes() {
		r.gauge("agents_in_trouble", float64(c.Trouble[code]), code)
	}
	longest := 0.0
	if c.WaitingSince != nil {
		longest = max(0, time.Since(*c.WaitingSince).Seconds())
	}
	r.gauge("agents_longest_wait_seconds", longest)
	for _, phase := range daemon.OpenPhases() {
		r.gauge("handoffs", float64(c.Handoffs[phase]), string(phase))
	}
	for _, status := range []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting} {
		r.gauge("pipelines", float64(c.Pipelines[status]), string(status))
	}
}

func (r reading) pool(s DatabaseStats) {
	r.gauge("database_connections", float64(s.Idle), "idle")
	r.gauge("database_connections", float64(s.Acquired), "acquired")
	r.gauge("database_connections", float64(s.Constructing), "constructing")
	r.gauge("database_max_connections", float64(s.Max))
	r.counter("database_acquire_waits_total", float64(s.Waits))
	r.counter("database_acquire_wait_seconds_total", s.Waited.Seconds())
}

// daemon sends the figures that the daemon counts.
func (r reading) daemon() {
	decided := r.server.Daemon.DeliveryCounts()
	for _, kind := range []daemon.DeliveryKind{
		daemon.KindMessage, daemon.KindCommand, daemon.KindInstruction, daemon.KindSkill, daemon.KindPrompt, daemon.KindExit,
	} {
		for _, verdict := range []daemon.Verdict{daemon.Submitted, daemon.NotSubmitted, daemon.Unconfirmed} {
			r.counter("deliveries_total", float64(decided[engine.DeliveryCount{Kind: kind, Verdict: verdict}]), string(kind), string(verdict))
		}
	}
	for key, n := range r.server.Daemon.HookCounts() {
		event := key.Event
		if event == "" {
			event = "other"
		}
		r.counter("hooks_received_total", float64(n), event, string(key.Outcome))
	}
	if depth, err := r.server.Daemon.SpoolDepth(); err == nil {
		r.gauge("spool_hooks", float64(depth))
	}
}

func (r reading) feed() {
	r.gauge("feed_readers", float64(r.server.subscribers.Load()))
	r.counter("feed_events_sent_total", float64(r.server.sent.Load()))
	r.counter("feed_readers_dropped_total", float64(r.server.dropped.Load()))
}
