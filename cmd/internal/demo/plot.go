package demo

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/handoffs"
)

const demoPrompt = "Parcels that are scanned twice within a second show up once in the history. Find out why, and say what you would change."

// plot is what a demo shows.
type plot struct {
	about string   // the beginning of its first line
	kept  []string // commands to try while --keep leaves the demo's daemon running
	next  []string // commands to try with a daemon of one's own
	tell  func(*demo, context.Context) error
}

var handoffPlot = plot{
	about: "One agent hands its work to its successor",
	kept:  []string{"agent list", "agent attach " + demoPersona},
	next:  []string{"understudy serve", "understudy agent start " + demoPersona + " --cwd DIR", "understudy handoff " + demoPersona + " --wait"},
	tell:  (*demo).handoffStory,
}

func (f *demoFlags) plot() *plot {
	switch {
	case f.pipeline:
		return &pipelinePlot
	case f.runtimes:
		return &runtimesPlot
	}
	return &handoffPlot
}

// handoffStory starts an agent, hands its work over, and shows the document and the successor.
func (d *demo) handoffStory(ctx context.Context) error {
	agent, err := d.startAgent(ctx, agents.NewAgent{Prompt: demoPrompt})
	if err != nil {
		return err
	}
	h, err := d.handOff(ctx, agent)
	if err != nil {
		return err
	}
	return d.show(ctx, h)
}

func (d *demo) handOff(ctx context.Context, agent daemon.Agent) (daemon.Handoff, error) {
	answer, err := d.client.RequestHandoff(ctx, agent.ID, handoffs.HandoffRequest{Reason: "demo"})
	if err != nil {
		return daemon.Handoff{}, err
	}
	d.Printf("%s\n", d.Bold(fmt.Sprintf("Handoff %d of agent %d", answer.HandoffID, agent.ID)))
	h, err := d.Watch(ctx, d.client, answer.HandoffID, 0)
	if err != nil {
		return h, err
	}
	return h, d.Verdict(h)
}
