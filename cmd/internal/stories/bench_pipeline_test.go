package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// fiveSteps is a template whose agents do not think, and leave a structured report.
func fiveSteps(r *rig) {
	r.template("five", "developer", "reviewer", "developer", "tester", "reviewer")
}

// BenchmarkPipeline is the steps of runs of five, one run at a time. A step's time is that from the end of
// the one before to its own. Our own share is what is left without what its agent's process does: from
// its pane to its Stop. The exit of the agent before is still in it.
func BenchmarkPipeline(b *testing.B) {
	r := benchRig(b)
	fiveSteps(r)
	r.start()
	var total, own []time.Duration
	for b.Loop() {
		p := r.awaitPipeline(r.pipeline("five", "@report").ID, daemon.PipelineDone)
		from := p.CreatedAt
		for _, s := range p.Steps {
			took := s.FinishedAt.Sub(from)
			total = append(total, took)
			own = append(own, took-atWork(r, s.AgentIDs[0]))
			from = *s.FinishedAt
		}
	}
	quantiles(b, "step", total)
	quantiles(b, "own-share", own)
}

// atWork is how long an agent's process took from its start to the end of its turn.
func atWork(r *rig, agentID int64) time.Duration {
	at := map[event.Type]time.Time{}
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == agentID }) {
		at[e.Type] = e.At
	}
	from := at["agent_started"]
	if at["agent_registered"].Before(from) { // its first hook was faster than we
		from = at["agent_registered"]
	}
	return at["agent_idle"].Sub(from)
}

// BenchmarkPipelines is 20 runs of five steps, created at once, of which four may be at work. All must
// finish, each step once.
func BenchmarkPipelines(b *testing.B) {
	const runs = 20
	r := benchRig(b)
	r.cfg.Settings.Pipeline.MaxRunning = 4
	fiveSteps(r)
	r.start()
	for b.Loop() {
		var ids []int64
		for range runs {
			ids = append(ids, r.pipeline("five", "@report").ID)
		}
		for _, id := range ids {
			r.wantSteps(r.awaitPipeline(id, daemon.PipelineDone), "done done done done done")
			if n := len(r.runEvents(id, "step_done")); n != 5 {
				b.Errorf("pipeline %d has %d ends of steps", id, n)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*runs*5), "ms/step")
	b.ReportMetric(0, "ns/op")
}
