package demo

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
)

var runtimesPlot = plot{
	about: "One piece of work goes from CLI to CLI and back",
	kept:  []string{"agent list --all", "handoff list", "handoff " + demoPersona + " --runtime codex --wait"},
	next: []string{"understudy serve", "understudy runtimes", "understudy agent start " + demoPersona + " --runtime codex --cwd DIR",
		"understudy handoff " + demoPersona + " --runtime opencode --wait"},
	tell: (*demo).runtimesStory,
}

// runtimeTasks are what the agents of the story are told, one after the other. Each task names the decision with which its
// agent ends it. There is one for each runtime, and the last agent is on the first runtime again.
var runtimeTasks = []string{
	"Find out why two scans within a second show up once.\nDecision: The set in history.merge loses them, because a Scan knows only whole seconds.",
	"Plan the change.\nDecision: A scan gets a number from its depot, because clocks can be wrong.",
	"Say which test would have shown it.\nDecision: Test two scans of one depot in the same second, because that is what depots do.",
	"Look for what the plan breaks.\nDecision: Old scans keep the number 0, because nobody can tell them apart any more.",
	"Say what is to be told to those who read scans.\nDecision: Announce the number a week before, because reports group by second.",
}

// playAll returns settings by which the command, a scripted agent, plays all CLIs, and what puts the roles into a daemon's
// configuration. Each role is Claude Code under another name, because that is the CLI that the scripted agent imitates.
func playAll(command []string) (map[string]serve.RuntimeSettings, func(engine.Config) engine.Config) {
	settings, roles := map[string]serve.RuntimeSettings{}, map[string]*runtimes.Runtime{}
	for _, rt := range catalog.All() {
		role := *claude.Runtime
		role.Name, role.Title = rt.Name, rt.Title+", played by the scripted agent"
		settings[rt.Name], roles[rt.Name] = serve.RuntimeSettings{Command: command}, &role
	}
	return settings, func(c engine.Config) engine.Config {
		c.Settings.Generic = roles
		return c
	}
}

// runtimesStory carries one piece of work round all runtimes, and shows what the last agent was told.
func (d *demo) runtimesStory(ctx context.Context) error {
	names := catalog.Names()
	for _, line := range []string{
		"One scripted agent plays all the CLIs. It behaves as Claude Code does: no CLI of yours is run, nothing of yours is touched.",
		"The daemon is real, and so is what it passes on.", realOnes(),
	} {
		d.Printf("%s\n", d.Hang(line))
	}
	agent, err := d.startAgent(ctx, agents.NewAgent{Runtime: names[0], Prompt: runtimeTasks[0]})
	if err != nil {
		return err
	}
	var h daemon.Handoff
	for i := range names {
		if i > 0 {
			if err := d.give(ctx, agent.ID, runtimeTasks[i]); err != nil {
				return err
			}
		}
		next := names[(i+1)%len(names)]
		if h, err = d.passOn(ctx, &agent, next); err != nil {
			return err
		}
		if agent, err = d.awaitTurn(ctx, *h.SuccessorID); err != nil {
			return err
		}
	}
	told, err := d.client.ContextFile(ctx, h.ID)
	if err != nil {
		return err
	}
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("What agent %d, on %s again, was told of decisions", agent.ID, agent.Runtime)))
	d.Block(d.middleOut(decisionsIn(string(told)), shownLines))
	d.Printf("\n%s\n", d.Bold("What understudy can do with each real CLI"))
	d.compare(catalog.All())
	d.Printf("%s\n", d.Hang("`understudy runtimes NAME` says what one of them cannot do, and docs/runtimes.md how any other CLI is supervised."))
	return nil
}

// realOnes says which of the real CLIs are in PATH. It runs none of them.
func realOnes() string {
	var here, missing []string
	for _, rt := range catalog.All() {
		if _, err := exec.LookPath(rt.Command[0]); err != nil {
			missing = append(missing, rt.Name)
		} else {
			here = append(here, rt.Name)
		}
	}
	return "Real CLIs in PATH: " + cmp.Or(strings.Join(here, ", "), "none") + "; not in PATH: " + cmp.Or(strings.Join(missing, ", "), "none") + "."
}

// give has the agent do a task, and waits for the end of its turn.
func (d *demo) give(ctx context.Context, agentID int64, task string) error {
	if _, err := d.client.SendMessage(ctx, agentID, task, false); err != nil {
		return err
	}
	_, err := d.awaitTurn(ctx, agentID)
	return err
}

// passOn hands an agent over to a successor on the runtime next, and prints what was passed on.
func (d *demo) passOn(ctx context.Context, agent *daemon.Agent, next string) (daemon.Handoff, error) {
	began, label := time.Now(), agent.Runtime+" → "+next
	d.Start(label, began)
	defer d.Clear()
	answer, err := d.client.RequestHandoff(ctx, agent.ID, handoffs.HandoffRequest{Reason: "demo", Heirs: []daemon.Heir{{Runtime: next}}})
	if err != nil {
		return daemon.Handoff{}, err
	}
	var h daemon.Handoff
	err = show.Await(ctx, d.client, d.Idle, func(ctx context.Context) (bool, error) {
		var err error
		h, err = d.client.Handoff(ctx, answer.HandoffID)
		return err == nil && !h.Open(), err
	})
	if err != nil {
		return h, err
	}
	if h.Phase != daemon.Completed {
		return h, d.Verdict(h)
	}
	d.ended(label, began, fmt.Sprintf("agent %d to agent %d: %s", agent.ID, *h.SuccessorID, show.PassedOn(h.Metrics)))
	return h, nil
}

// decisionsIn returns the list of decisions of a context file.
func decisionsIn(context string) string {
	_, list, _ := strings.Cut(context, "\n## Decisions so far\n")
	list, _, _ = strings.Cut(list, "\n## ")
	return strings.Trim(list, "\n")
}

// compare prints what the runtimes can do. Runtimes that do something in the same way share a line.
func (d *demo) compare(all []*runtimes.Runtime) {
	facts := make([][]runtimes.Fact, len(all))
	for i, rt := range all {
		facts[i] = rt.Facts()
	}
	for n, f := range facts[0] {
		var ways []string
		names := map[string][]string{}
		for i := range all {
			how := facts[i][n].How
			if names[how] == nil {
				ways = append(ways, how)
			}
			names[how] = append(names[how], all[i].Name)
		}
		d.Printf("  %s\n", d.Bold(f.Topic))
		for _, how := range ways {
			who := strings.Join(names[how], ", ")
			if len(ways) == 1 {
				who = "all"
			}
			d.Printf("    %s\n", strings.Join(d.Fold(words.Terminal(who+": "+how), 6), "\n      "))
		}
	}
}
