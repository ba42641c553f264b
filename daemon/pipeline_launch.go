package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
)

// stepOf returns the step that an agent works on, and its pipeline; nil: the agent works on none.
func (d *Daemon) stepOf(ctx context.Context, a *Agent) (*Pipeline, *Step, error) {
	if a.PipelineID == nil || a.StepID == nil {
		return nil, nil, nil
	}
	p, err := d.Store.Pipeline(ctx, *a.PipelineID)
	if err != nil {
		return nil, nil, fmt.Errorf("agent %d: pipeline %d: %w", a.ID, *a.PipelineID, err)
	}
	s := p.step(*a.StepID)
	if s == nil {
		return nil, nil, fmt.Errorf("agent %d: pipeline %d has no step %d", a.ID, p.ID, *a.StepID)
	}
	return &p, s, nil
}

// planStep adds to spec what the agent of a step needs: behind the skill its place in the pipeline, and the step's prompt
// as the runtime's first prompt. A successor in the step gets no first prompt, because the handoff gives it its
// instructions; its skill names a file with the step's prompt.
func (d *Daemon) planStep(ctx context.Context, a *Agent, spec *runtimes.Spec, p *Pipeline, s *Step) error {
	where, err := placeInPipeline(p, s, d.furtherStepHeadings(p, s))
	if err != nil {
		return err
	}
	prior, err := d.priorContextFile(ctx, a, p, s)
	if err != nil {
		return err
	}
	if prior != "" {
		spec.MayRead = append(spec.MayRead, prior)
		where += "\nWhat the steps before yours have left is in " + prior + ": the last message in full, all decisions, the files that were touched and the end of the conversation. Read it before you begin.\n"
	}
	if spec.SkillText != "" {
		spec.SkillText += "\n"
	}
	spec.SkillText += where
	if a.PreviousAgentID == nil {
		if spec.Prompt = runtimes.FirstPrompt(s.Input); len(spec.Prompt) <= runtimes.MaxArgument {
			return nil
		}
	}
	path, words, err := d.taskFile(a, s)
	if err != nil {
		return err
	}
	if a.PreviousAgentID == nil {
		spec.Prompt = words
	} else {
		spec.SkillText += "\nYou take over from another agent in the middle of the step. What it was asked to do stands in " + path + ".\n"
	}
	spec.MayRead = append(spec.MayRead, path)
	return nil
}

// priorContextFile writes what the steps before have left to a file among the agent's launch files, and returns its path;
// "": they have left nothing.
func (d *Daemon) priorContextFile(ctx context.Context, a *Agent, p *Pipeline, s *Step) (path string, err error) {
	content, err := d.priorContext(ctx, p, s)
	if err != nil || content == "" {
		return "", err
	}
	dir := d.Data.Launch(a.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "context.md")
	return path, data.WriteFile(path, []byte(content), 0o600)
}

// taskFile writes a step's prompt to a file among the agent's launch files, and returns words that tell the agent to read it.
func (d *Daemon) taskFile(a *Agent, s *Step) (path, words string, err error) {
	dir := d.Data.Launch(a.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, "task.md")
	words = "Your task is too long for one message. It is in the file " + path + ": read all of it first, part by part if need be, then do what it says."
	return path, words, data.WriteFile(path, []byte(s.Input), 0o600)
}
