package stories

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// fiveSteps writes a template of five steps. Its agents answer at once, with a structured report.
func fiveSteps(r *rig) {
	writeTemplate(r, "five", "developer", "reviewer", "developer", "tester", "reviewer")
}

// BenchmarkPipeline measures the steps of pipelines of five, one pipeline at a time. A step's time runs from the end
// of the previous step to its own end. Our own share is that time without the time of the agent's process, from its
// pane to its Stop. It still contains the exit of the previous agent.
func BenchmarkPipeline(b *testing.B) {
	r := benchRig(b)
	fiveSteps(r)
	r.start()
	var total, own []time.Duration
	for b.Loop() {
		p := awaitPipeline(r, startPipeline(r, "five", "@report").ID, daemon.PipelineDone)
		from := p.CreatedAt
		for _, s := range p.Steps {
			took := s.FinishedAt.Sub(from)
			total = append(total, took)
			own = append(own, took-agentWorkTime(r, s.AgentIDs[0]))
			from = *s.FinishedAt
		}
	}
	quantiles(b, "step", total)
	quantiles(b, "own-share", own)
}

// agentWorkTime is how long an agent's process took from its start to the end of its turn.
func agentWorkTime(r *rig, agentID int64) time.Duration {
	at := map[event.Type]time.Time{}
	for _, e := range r.eventsWhere(func(e event.Event) bool { return e.AgentID != nil && *e.AgentID == agentID }) {
		at[e.Type] = e.At
	}
	from := at["agent_started"]
	if at["agent_registered"].Before(from) { // The agent's first hook came before our event.
		from = at["agent_registered"]
	}
	return at["agent_idle"].Sub(from)
}

// BenchmarkPipelines creates 20 pipelines of five steps at once. Four may be at work at a time. All must finish, and
// each step must run once.
func BenchmarkPipelines(b *testing.B) {
	runs := loaded(20)
	r := benchRig(b)
	r.cfg.Settings.Pipeline.MaxRunning = 4
	fiveSteps(r)
	r.start()
	for b.Loop() {
		var ids []int64
		for range runs {
			ids = append(ids, startPipeline(r, "five", "@report").ID)
		}
		for _, id := range ids {
			wantSteps(r, awaitPipeline(r, id, daemon.PipelineDone), "done done done done done")
			if n := len(pipelineEvents(r, id, "step_done")); n != 5 {
				b.Errorf("pipeline %d has %d ends of steps", id, n)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*runs*5), "ms/step")
	b.ReportMetric(0, "ns/op")
}
