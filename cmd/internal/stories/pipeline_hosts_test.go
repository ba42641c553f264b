package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// TestPipelineTakesDecisionsFromAnyHost: Any host's daemon accepts what a person asks of a pipeline. The pipeline's
// own host carries it out.
func TestPipelineTakesDecisionsFromAnyHost(t *testing.T) {
	storyOfTwo(t, func(t *testing.T, north, south *rig) {
		held, release := north.holding("developer")
		north.template("held", held, "reviewer | approval: true")
		north.start()
		south.start()
		id := north.pipeline("held", roof).ID
		a := north.atWork(id, 1)
		began := time.Now()
		south.abort(id, "failed pending")
		north.wantInterrupted(a.ID)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the agent's end took %s", took)
		}
		release()
		if p := south.resume(id, false); p.Open() == false {
			t.Errorf("resumed, the run is %s", p.Status)
		}
		north.awaitPipeline(id, daemon.PipelineWaiting)
		if p, err := south.client.RejectPipeline(t.Context(), id, daemon.Decision{Comment: "no"}); err != nil || said(p.Error) != "Rejected: no" {
			t.Errorf("reject: %v, %q", err, said(p.Error))
		}
		south.resume(id, false)
		south.approve(id, "from afar")
		p := north.awaitPipeline(id, daemon.PipelineDone)
		north.wantSteps(p, "done done")
		for _, s := range p.Steps {
			for _, agent := range s.AgentIDs {
				if got := north.getAgent(agent); got.Host != "north" {
					t.Errorf("agent %d of the run is of host %s", agent, got.Host)
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
			held, release := r.holding("developer")
			r.limited(1).template("held", held, "reviewer")
			r.start()
			ids = append(ids, r.pipeline("held", roof).ID, r.pipeline("held", roof).ID)
			releases = append(releases, release)
		}
		for i, r := range hosts {
			a := r.atWork(ids[2*i], 1)
			r.wantNoteRoom(r.getPipeline(ids[2*i+1]))
			if panes, err := r.tmux.List(t.Context()); err != nil || len(panes) != 1 || panes[0].Mark != fmt.Sprint(a.ID) {
				t.Errorf("panes %+v, %v; want that of agent %d alone", panes, err, a.ID)
			}
		}
		north.halt() // South does not touch the pipelines of north.
		releases[1]()
		for _, id := range ids[2:] {
			south.wantOneAgent(south.awaitPipeline(id, daemon.PipelineDone))
		}
		if p := south.getPipeline(ids[0]); p.Status != daemon.PipelineRunning || p.Host != "north" {
			t.Errorf("the run of the host that is away is %s, of host %s", p.Status, p.Host)
		}
		releases[0]()
		north.start()
		for _, id := range ids[:2] {
			north.wantOneAgent(north.awaitPipeline(id, daemon.PipelineDone))
		}
		north.wantAtMost(2) // the limits of both hosts together
	})
}
