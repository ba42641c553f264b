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

	agents, trouble, longestWait, handoffs, pipelines *prometheus.Desc
	deliveries, hooks, spool                          *prometheus.Desc
	readers, sent, dropped                            *prometheus.Desc
	tokens, cost, budget                              *prometheus.Desc
	up, ping, conns, maxConns, waits, waited          *prometheus.Desc
}

func newScrape(s *Server) *scrape {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("understudy_"+name, help+".", labels, nil)
	}
	return &scrape{
		server:      s,
		agents:      desc("agents", "Agents of this host that have not ended, by state", "state"),
		trouble:     desc("agents_in_trouble", "Agents of this host that have not ended and whose newest turn to end has failed by their runtime, by the code of the trouble", "code"),
		longestWait: desc("agents_longest_wait_seconds", "How long that agent of this host has waited for a person that has waited longest; 0: none waits"),
		handoffs:    desc("handoffs", "Handoffs of this host that have not ended, by phase", "phase"),
		pipelines:   desc("pipelines", "Runs of this host that have not ended, by status", "status"),
		deliveries:  desc("deliveries_total", "Texts for agents that have got their verdict, by kind"+sinceStart, "kind", "verdict"),
		hooks:       desc("hooks_received_total", "Hooks of agents by what became of them"+sinceStart, "event", "outcome"),
		spool:       desc("spool_hooks", "Hooks that wait in the spool"),
		readers:     desc("feed_readers", "Readers of the event feed"),
		sent:        desc("feed_events_sent_total", "Events that were sent to readers of the feed"+sinceStart),
		dropped:     desc("feed_readers_dropped_total", "Readers of the feed that were cut off because they fell behind"+sinceStart),
		tokens:      desc("tokens_today", "Tokens that agents of this host have used since local midnight, by persona and kind; reasoning is within output", "persona", "kind"),
		cost:        desc("cost_usd_today", "Cost in US dollars that the runtimes of this host's agents have reported since local midnight, by persona", "persona"),
		budget:      desc("budget_used_ratio", "How much of a persona's daily budget is used on this host; from 1 on its agents are held", "persona"),
		up:          desc("database_up", "Whether the database answers"),
		ping:        desc("database_ping_seconds", "How long the database took to answer"),
		conns:       desc("database_connections", "Connections of the pool, by state", "state"),
		maxConns:    desc("database_max_connections", "How many connections the pool may have"),
		waits:       desc("database_acquire_waits_total", "How often a connection was waited for, because none was idle"+sinceStart),
		waited:      desc("database_acquire_wait_seconds_total", "How long connections were waited for, because none was idle"+sinceStart),
	}
}

// Describe sends the description of each metric that Collect may send.
func (s *scrape) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		s.agents, s.trouble, s.longestWait, s.handoffs, s.pipelines, s.deliveries, s.hooks, s.spool,
		s.readers, s.sent, s.dropped, s.tokens, s.cost, s.budget, s.up, s.ping, s.conns, s.maxConns, s.waits, s.waited,
	} {
		to <- d
	}
}

// reading is one answer to Prometheus.
type reading struct {
	*scrape
	to chan<- prometheus.Metric
}

func (r reading) gauge(d *prometheus.Desc, v float64, labels ...string) {
	r.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (r reading) counter(d *prometheus.Desc, v float64, labels ...string) {
	r.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// Collect sends all metrics. If the database does not answer, it sends only the metrics that need no database.
func (s *scrape) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(s.server.streams, s.server.scrapeTimeout)
	defer cancel()
	r := reading{s, to}
	r.daemon()
	r.feed()
	r.gauge(s.up, r.database(ctx))
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
		r.gauge(r.ping, time.Since(began).Seconds())
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
			r.gauge(r.tokens, float64(n), row.Of, kind)
		}
		if row.CostUSD != nil {
			r.gauge(r.cost, *row.CostUSD, row.Of)
		}
	}
	for i := range budgets {
		r.gauge(r.budget, budgets[i].Percent/100, budgets[i].Persona)
	}
	return nil
}

func (r reading) census(c daemon.Census) {
	for _, state := range agentStates {
		r.gauge(r.agents, float64(c.Agents[state]), string(state))
	}
	for _, code := range daemon.TroubleCodes() {
		r.gauge(r.trouble, float64(c.Trouble[code]), code)
	}
	longest := 0.0
	if c.WaitingSince != nil {
		longest = max(0, time.Since(*c.WaitingSince).Seconds())
	}
	r.gauge(r.longestWait, longest)
	for _, phase := range daemon.OpenPhases() {
		r.gauge(r.handoffs, float64(c.Handoffs[phase]), string(phase))
	}
	for _, status := range []daemon.PipelineStatus{daemon.PipelinePending, daemon.PipelineRunning, daemon.PipelineWaiting} {
		r.gauge(r.pipelines, float64(c.Pipelines[status]), string(status))
	}
}

func (r reading) pool(s DatabaseStats) {
	r.gauge(r.conns, float64(s.Idle), "idle")
	r.gauge(r.conns, float64(s.Acquired), "acquired")
	r.gauge(r.conns, float64(s.Constructing), "constructing")
	r.gauge(r.maxConns, float64(s.Max))
	r.counter(r.waits, float64(s.Waits))
	r.counter(r.waited, s.Waited.Seconds())
}

// daemon sends the figures that the daemon counts.
func (r reading) daemon() {
	decided := r.server.Daemon.DeliveryCounts()
	for _, kind := range []daemon.DeliveryKind{
		daemon.KindMessage, daemon.KindCommand, daemon.KindInstruction, daemon.KindSkill, daemon.KindPrompt, daemon.KindExit,
	} {
		for _, verdict := range []daemon.Verdict{daemon.Submitted, daemon.NotSubmitted, daemon.Unconfirmed} {
			r.counter(r.deliveries, float64(decided[engine.DeliveryCount{Kind: kind, Verdict: verdict}]), string(kind), string(verdict))
		}
	}
	for key, n := range r.server.Daemon.HookCounts() {
		event := key.Event
		if event == "" {
			event = "other"
		}
		r.counter(r.hooks, float64(n), event, string(key.Outcome))
	}
	if depth, err := r.server.Daemon.SpoolDepth(); err == nil {
		r.gauge(r.spool, float64(depth))
	}
}

func (r reading) feed() {
	r.gauge(r.readers, float64(r.server.subscribers.Load()))
	r.counter(r.sent, float64(r.server.sent.Load()))
	r.counter(r.dropped, float64(r.server.dropped.Load()))
}
