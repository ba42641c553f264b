package agents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// planStep adds to spec what the agent of a step needs: behind the skill its place in the pipeline. The step's prompt is a delivery, and in
// a file if it cannot be typed. A successor in the step gets no prompt of it, because the handoff gives it its instructions; its skill
// names a file with the step's prompt.
func (d *Launcher) planStep(ctx context.Context, a *daemon.Agent, spec *runtimes.Spec, p *daemon.Pipeline, s *daemon.Step) error {
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
	if a.PreviousAgentID == nil && typedPrompt(s) != "" {
		return nil
	}
	path := d.taskFile(a)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := data.WriteFile(path, []byte(s.Input), 0o600); err != nil {
		return err
	}
	if a.PreviousAgentID != nil {
		spec.SkillText += "\nYou take over from another agent in the middle of the step. What it was asked to do stands in " + path + ".\n"
	}
	spec.MayRead = append(spec.MayRead, path)
	return nil
}

// priorContextFile writes what the steps before have left to a file among the agent's launch files, and returns its path;
// "": they have left nothing.
func (d *Launcher) priorContextFile(ctx context.Context, a *daemon.Agent, p *daemon.Pipeline, s *daemon.Step) (path string, err error) {
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

// priorContext returns the content of the context file for the agents of a step; "": no step before it has left one.
func (d *Launcher) priorContext(ctx context.Context, p *daemon.Pipeline, s *daemon.Step) (string, error) {
	prev := p.Before(s)
	if prev == nil {
		return "", nil
	}
	rec, err := d.Store.StepRecord(ctx, prev.LatestHandoff.ID)
	if errors.Is(err, daemon.ErrNotFound) { // an older version recorded the output
		return "", nil
	}
	return rec.Context, err
}

// PromptStep gives an agent that is still to be committed the prompt of its step. It is typed and no argument, because an argument is in the list
// of processes for every account of the machine. If it cannot be typed as it is, the agent is told in which file it stands: see planStep.
func PromptStep(ctx context.Context, d *Launcher, a *daemon.Agent, s *daemon.Step, c *daemon.Change) error {
	id, err := d.Store.NextID(ctx, daemon.DeliveryIDs)
	if err != nil {
		return err
	}
	text := cmp.Or(typedPrompt(s), "Your task is in the file "+d.taskFile(a)+": read all of it first, part by part if need be, then do what it says.")
	dl := daemon.NewDelivery(id, a.ID, daemon.KindMessage, text, "", d.Now())
	a.StartWith(dl)
	c.NewDeliveries = append(c.NewDeliveries, dl)
	return nil
}

// typedPrompt returns a step's prompt in a form that can be typed; "": it cannot, because it is too long, or a command, or has characters
// that a composer changes, as Claude Code makes four blanks of a tab.
func typedPrompt(s *daemon.Step) string {
	text, err := runtimes.SafePrompt(runtimes.FirstPrompt(s.Input))
	_, changed := deliveries.ControlIn(text, "\n")
	if err != nil || len(text) > deliveries.MaxMessage || changed >= 0 || !utf8.ValidString(text) {
		return ""
	}
	return text
}

// taskFile is the file among an agent's launch files that has the prompt of its step.
func (d *Launcher) taskFile(a *daemon.Agent) string {
	return filepath.Join(d.Data.Launch(a.ID), "task.md")
}

// furtherStepHeadings returns the headings that the output of a step should have in addition to the four standard ones,
// because the role of a step that may come next requires them, or its rules read them.
func (d *Launcher) furtherStepHeadings(p *daemon.Pipeline, s *daemon.Step) []string {
	var roles, further []string
	if next := p.NextStep(s); next != nil {
		roles = append(roles, RoleOf(next.Who()))
	}
	for _, rule := range s.Next {
		if to := p.NewestOf(rule.Goto); to != nil {
			roles = append(roles, RoleOf(to.Who()))
		}
		if !slices.Contains(further, rule.When.Heading) && !data.Standard(rule.When.Heading) {
			further = append(further, rule.When.Heading)
		}
	}
	for _, title := range d.HeadingsFor(roles) {
		if !slices.ContainsFunc(further, func(h string) bool { return data.SameHeading(h, title) }) {
			further = append(further, title)
		}
	}
	return further
}

// placeInPipeline returns the text that follows the skill of a step's agent. It tells the agent which step it works on
// and who gets its last message. headings are those that the next step's role requires beside the four standard ones.
func placeInPipeline(p *daemon.Pipeline, s *daemon.Step, headings []string) (string, error) {
	var b bytes.Buffer
	err := Prompts().ExecuteTemplate(&b, "step.md", map[string]any{
		"Run": p.ID, "Title": p.Title, "N": s.Number, "Of": p.Steps[len(p.Steps)-1].Number, "Description": strings.TrimSpace(s.Description),
		"Last": s.OrderIndex == len(p.Steps)-1 && len(s.Next) == 0, "Headings": headings,
		"Round": roundWords(p, s), "Rules": rulesTold(p, s), "End": s.OrderIndex == len(p.Steps)-1, "Stop": s.Otherwise == personas.Stop,
	})
	if err != nil {
		return "", fmt.Errorf("prompt step: %w", err)
	}
	return b.String(), nil
}
