package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/pipelines"
)

const (
	sentBack = "Looked.\n\n## Way\n\nway 0" // what sends the work back
	content  = "Looked.\n\n## Way\n\nway 1"
	reviewed = "- agent: developer-con-1\n- agent: developer-kim-2\n  next: {when: \"Way: way 0\", goto: 1}\n  max_rounds: 2\n- agent: developer-ada-3\n"
)

// rounds are the steps of a pipeline: number in the template, round and status of each.
func rounds(pl daemon.Pipeline) string {
	var all []string
	for _, s := range pl.Steps {
		all = append(all, fmt.Sprintf("%d.%d %s", s.Number, s.Round, s.Status))
	}
	return strings.Join(all, ", ")
}

// TestRoundPastTheBound: a review sends the work back for as many rounds as it may. A person decides about a further one: approves it, or
// rejects it and goes on without it. Every run checks where each output leads.
func TestRoundPastTheBound(t *testing.T) {
	const twice = "1.1 done, 2.1 done, 1.2 done, 2.2 done, "
	for name, end := range map[string]string{"approved": "1.3 done, 2.3 done, 3.1 done", "skipped": "1.3 skipped, 2.3 skipped, 3.1 done"} {
		storyAs(t, name, func(t *testing.T, p *person, h *host) {
			writeTemplate(p, h, "reviewed", reviewed)
			says(p, "Mended.", sentBack, "Mended.", sentBack, "Mended.", content, "Fine.")
			id := p.startPipeline(h, "reviewed")
			pl := p.reachStatus(id, daemon.PipelineWaiting)
			asks := eventsOf(p, event.PipelineWaitingForApproval)
			if rounds(pl) != twice+"1.3 pending, 2.3 pending, 3.1 pending" || len(asks) != 1 || !strings.Contains(word(&asks[0], "message"), "step 4 (developer-kim-2) has sent the work back in round 2 of at most 2") || !has(pl.Warnings, "its max_rounds is 2") {
				t.Errorf("%s: %q", rounds(pl), pl.Warnings)
			}
			if name == "approved" {
				p.approve(&pl, h)
			} else {
				p.w.ok(decide(p, h, id, (*pipelines.Room).RejectPipeline, pipelines.Decision{}))
				pl = p.reachStatus(id, daemon.PipelineFailed)
				p.resume(&pl, true)
			}
			if pl = p.reachStatus(id, daemon.PipelineDone); rounds(pl) != twice+end || pl.Steps[6].CameFrom == nil || len(eventsOf(p, event.StepRouted)) != 2 {
				t.Errorf("%s", rounds(pl))
			}
		})
	}
}

// TestWayThatAPersonChooses: an output does not say which step comes next. Nothing begins, and a person chooses: back, with a comment for the
// agent there, or on. The choice cannot be skipped, and a rejection leaves it to be made.
func TestWayThatAPersonChooses(t *testing.T) {
	story(t, func(t *testing.T, p *person, h *host) {
		writeTemplate(p, h, "reviewed", reviewed)
		says(p, "Mended.", "I would mend more.", "Mended.", "## Way", "Fine.")
		id := p.startPipeline(h, "reviewed")
		choose := func(in pipelines.Decision) error { return decide(p, h, id, (*pipelines.Room).ApprovePipeline, in) }
		pl := p.reachStatus(id, daemon.PipelineWaiting)
		if said := word(&eventsOf(p, event.PipelineWaitingForApproval)[0], "message"); pl.Steps[1].Undecided != daemon.UndecidedMissing || !strings.Contains(said, "has left no heading Way") || !strings.Contains(said, "I would mend more") || !strings.Contains(said, "`--goto 1`") {
			t.Errorf("undecided: %q, asked %q", pl.Steps[1].Undecided, said)
		}
		wantCode(t, choose(pipelines.Decision{StepID: pl.Steps[2].ID}), daemon.CodeAnotherStep)
		wantCode(t, choose(pipelines.Decision{Goto: 4}), daemon.CodeBadGoto)
		p.w.chosen[pl.Steps[1].ID] = true
		p.w.ok(choose(pipelines.Decision{StepID: pl.Steps[1].ID, Goto: 1, Comment: "mend the gutters"}))
		p.await("the second question", time.Minute, func() bool { return events(p, event.PipelineWaitingForApproval) == 2 })
		if pl = p.reachStatus(id, daemon.PipelineWaiting); rounds(pl) != "1.1 done, 2.1 done, 1.2 done, 2.2 done, 3.1 pending" || !strings.HasSuffix(pl.Steps[2].Input, "\n\n[Approval note: mend the gutters]") {
			t.Errorf("%s; told %q", rounds(pl), pl.Steps[2].Input)
		}
		p.w.ok(decide(p, h, id, (*pipelines.Room).RejectPipeline, pipelines.Decision{}))
		wantCode(t, resumePipeline(p, h, id, true), daemon.CodeStepUndecided)
		pl = p.reachStatus(id, daemon.PipelineFailed)
		p.resume(&pl, false)
		pl = p.reachStatus(id, daemon.PipelineWaiting)
		p.approve(&pl, h)
		p.reachStatus(id, daemon.PipelineDone)
	})
}
