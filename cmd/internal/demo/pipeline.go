package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/cmd/internal/show"
	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/fit"
	"github.com/understudyd/understudy/daemon/pipelines"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
)

const (
	PipelineRequest = "Parcels scanned twice within a second show up once: why?"
	PipelineComment = "Check that no scan is lost."

	// shownLines is the number of lines that are shown of a step's prompt, and of its output.
	shownLines = 32
)

// demoTemplate is the template of the demo's pipeline. Neither it nor the request makes an agent ask for a permission.
const demoTemplate = `# What "understudy demo --pipeline" runs. The shipped full_feature.yaml explains every key.
name: demo
description: A developer finds the cause, and with your approval a senior reviewer checks it.

steps:
  - agent: developer
    description: Find the cause.
    prompt: Find the cause, with file and line, and say what you would change. Change nothing yet.

  - agent: senior-reviewer
    description: Check the cause and the planned change.
    approval: true
    prompt: Is this the cause? Say what the planned change would break. Change nothing.
`

var pipelinePlot = plot{
	about: "One request goes from persona to persona",
	kept:  []string{"pipeline show 1", "agent list --all", `pipeline run demo --prompt "Another request" --wait`},
	next:  []string{"understudy serve", "understudy pipeline templates", `understudy pipeline run quick_fix --prompt "What is to be fixed" --wait`},
	tell:  (*demo).pipelineStory,
}

// addTemplate puts the template into the data directory before the daemon starts.
func (p *demoPlace) addTemplate() error {
	folder := data.At(p.data).Pipelines()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("template of the demo: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "demo.yaml"), []byte(demoTemplate), 0o600); err != nil {
		return fmt.Errorf("template of the demo: %w", err)
	}
	return nil
}

// pipelineStory shows a template, a pipeline with an approval, and the prompt that the second step got from the first.
func (d *demo) pipelineStory(ctx context.Context) error {
	t, err := d.template(ctx)
	if err != nil {
		return err
	}
	d.Printf("%s\n", d.Bold("Template "+t.Name+": "+show.TemplateSteps(t.Steps)))
	p, err := d.client.CreatePipeline(ctx, pipelines.NewPipeline{
		Template: t.Name, Title: PipelineRequest, Prompt: PipelineRequest, Cwd: d.place.project,
	})
	if err != nil {
		return err
	}
	if p, err = d.followRun(ctx, p); err != nil {
		return err
	}
	if p.Status != daemon.PipelineDone {
		return fmt.Errorf("pipeline %d failed: %s", p.ID, term.Text(p.Error))
	}
	d.Printf("%s in %s\n", d.Green("done"), show.RunTime(&p))
	return d.showRun(ctx, &p)
}

// template returns the demo's template as the daemon has read it.
func (d *demo) template(ctx context.Context) (api.Template, error) {
	list, err := d.client.Templates(ctx)
	if err != nil {
		return api.Template{}, err
	}
	for _, t := range list {
		if t.Name == "demo" {
			return t, nil
		}
	}
	return api.Template{}, errors.New("the daemon does not know the demo's template")
}

// followRun shows the steps of a pipeline as `pipeline run --wait` does, and approves the steps that wait for approval.
// It returns the ended pipeline.
func (d *demo) followRun(ctx context.Context, p daemon.Pipeline) (daemon.Pipeline, error) {
	d.Printf("pipeline %d (%s): %s\n", p.ID, p.Template, p.Title)
	here := *d.app
	here.DataFlag = d.place.data // for the commands that the daemon names
	w := show.NewStepper(here.UI(d.app.Stdout), &p)
	defer w.Clear()
	err := show.Await(ctx, d.client, w.Idle, func(ctx context.Context) (bool, error) {
		now, err := d.client.Pipeline(ctx, p.ID)
		if err != nil {
			return false, err
		}
		p = now
		if id := p.CurrentAgentID; id != nil {
			agent, err := d.client.Agent(ctx, *id)
			if err != nil {
				return false, err
			}
			p.Note = cmp.Or(d.asks(&agent), p.Note)
		}
		over := w.Look(&p)
		if p.Status == daemon.PipelineWaiting {
			return false, d.approve(ctx, w, &p)
		}
		return over, nil
	})
	return p, err
}

// approve approves a step, as a person would.
func (d *demo) approve(ctx context.Context, w *show.Stepper, p *daemon.Pipeline) error {
	if _, err := d.client.ApprovePipeline(ctx, p.ID, pipelines.Decision{Comment: PipelineComment}); err != nil {
		return err
	}
	command := fmt.Sprintf("`understudy pipeline approve %d --comment \"%s\"`", p.ID, PipelineComment)
	w.Done("approval", time.Since(show.Since(p, p.Front())), "given by the demo, as with "+command)
	return nil
}

// showRun shows the prompt and the output of the pipeline's last step.
func (d *demo) showRun(ctx context.Context, p *daemon.Pipeline) error {
	last := &p.Steps[len(p.Steps)-1]
	first := last.AgentIDs[0] // a successor of this agent would have got another prompt
	prompt, err := d.firstPrompt(ctx, first)
	if err != nil {
		return err
	}
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("The prompt that agent %d got", first)))
	d.Block(d.middleOut(prompt, shownLines))
	d.Printf("\n%s\n", d.Bold(fmt.Sprintf("What came of it, as `understudy pipeline show %d --step %d` prints it", p.ID, len(p.Steps))))
	d.Block(d.middleOut(last.LatestHandoff.ContentMD, shownLines)) // a step that is done has a handoff
	return nil
}

// firstPrompt returns the first prompt of an agent, read from the agent's transcript. The runtime may write the prompt a
// little later than it reports the end of the turn, but it writes nothing after its own end.
func (d *demo) firstPrompt(ctx context.Context, id int64) (string, error) {
	prompt := ""
	err := show.Await(ctx, d.client, nil, func(ctx context.Context) (bool, error) {
		agent, err := d.client.Agent(ctx, id) // ask first: an ended agent writes no more
		if err != nil {
			return false, err
		}
		prompt, err = promptIn(term.Text(agent.TranscriptPath))
		switch {
		case err != nil:
			return false, fmt.Errorf("transcript of agent %d: %w", id, err)
		case prompt == "" && !agent.Active():
			return false, fmt.Errorf("the transcript of agent %d, %s, does not tell what it was asked", id, term.Text(agent.TranscriptPath))
		}
		return prompt != "", nil
	})
	return prompt, err
}

// promptIn returns the first prompt in a transcript, or "" if the transcript has none yet.
func promptIn(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil && (path == "" || errors.Is(err, fs.ErrNotExist)) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(b) {
		if e, err := claude.Runtime.ParseEntry(line); err == nil && e.Role == "user" { // a half-written line does not parse
			return e.Text, nil
		}
	}
	return "", nil
}

// middleOut folds a text to the width of a block. If the text has more lines than most, it leaves out the middle.
func (d *demo) middleOut(s string, most int) string {
	var lines []string
	for line := range strings.Lines(strings.Trim(s, "\n")) {
		lines = append(lines, strings.Split(strings.Join(fit.Fold(line, d.textWidth()), "\n"), "\n")...) // an empty line stays
	}
	if more := len(lines) - most; more > 0 {
		tail := most / 3
		head := most - tail
		lines = append(append(lines[:head:head], "("+words.Count(more, "more line")+")"), lines[len(lines)-tail:]...)
	}
	return strings.Join(lines, "\n")
}
