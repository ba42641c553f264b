package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/pipelines"
)

// TestPipelineTakesDecisionsFromAnyHost: Any host's daemon accepts what a person asks of a pipeline. The pipeline's
// own host carries it out.
func TestPipelineTakesDecisionsFromAnyHost(t *testing.T) {
	storyOfTwo(t, func(t *testing.T, north, south *rig) {
		held, release := north.holdingStep("developer")
		north.writeTemplate("held", held, "reviewer | approval: true")
		north.start()
		south.start()
		id := north.startPipeline("held", roof).ID
		a := north.awaitWorkingAgent(id, 1)
		began := time.Now()
		south.abortPipeline(id, "failed pending")
		north.wantInterrupted(a.ID)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the agent's end took %s", took)
		}
		release()
		if p := south.resumePipeline(id, false); p.Open() == false {
			t.Errorf("resumed, the pipeline is %s", p.Status)
		}
		north.awaitPipeline(id, daemon.PipelineWaiting)
		if p, err := south.client.RejectPipeline(t.Context(), id, pipelines.Decision{Comment: "no"}); err != nil || said(p.Error) != "Rejected: no" {
			t.Errorf("reject: %v, %q", err, said(p.Error))
		}
		south.resumePipeline(id, false)
		south.approvePipeline(id, "from afar")
		p := north.awaitPipeline(id, daemon.PipelineDone)
		north.wantSteps(p, "done done")
		for _, s := range p.Steps {
			for _, agent := range s.AgentIDs {
				if got := north.getAgent(agent); got.Host != "north" {
					t.Errorf("agent %d of the pipeline is of host %s", agent, got.Host)
				}
			}
		}
		south.wantNoPanes()
	})
}

// TestHostsWorkOnlyOnTheirOwnPipelines: Each host has its own limit.
func TestHostsWorkOnlyOnTheirOwnPipelines(t *testing.T) {
	storyOfTwo(t, func(t *testing.T, north, south *rig) {
		hosts := []*rig{north, south}
		var ids []int64
		var releases []func()
		for _, r := range hosts {
			held, release := r.holdingStep("developer")
			r.limitPipelines(1).writeTemplate("held", held, "reviewer")
			r.start()
			ids = append(ids, r.startPipeline("held", roof).ID, r.startPipeline("held", roof).ID)
			releases = append(releases, release)
		}
		for i, r := range hosts {
			a := r.awaitWorkingAgent(ids[2*i], 1)
			r.wantWaitsForRoom(r.getPipeline(ids[2*i+1]))
			if panes, err := r.tmux.List(t.Context()); err != nil || len(panes) != 1 || panes[0].Mark != fmt.Sprint(a.ID) {
				t.Errorf("panes %+v, %v; want that of agent %d alone", panes, err, a.ID)
			}
		}
		north.halt() // South does not touch the pipelines of north.
		releases[1]()
		for _, id := range ids[2:] {
			south.wantOneAgentPerStep(south.awaitPipeline(id, daemon.PipelineDone))
		}
		if p := south.getPipeline(ids[0]); p.Status != daemon.PipelineRunning || p.Host != "north" {
			t.Errorf("the pipeline of the host that is away is %s, of host %s", p.Status, p.Host)
		}
		releases[0]()
		north.start()
		for _, id := range ids[:2] {
			north.wantOneAgentPerStep(north.awaitPipeline(id, daemon.PipelineDone))
		}
		north.wantAtMostLive(2) // the limits of both hosts together
	})
}
