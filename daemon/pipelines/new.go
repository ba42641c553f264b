package pipelines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/personas"
)

// NewPipeline is the input for a new pipeline.
type NewPipeline struct {
	Template string
	Title    string
	Prompt   string
	Branch   string // the pipeline gets a git work tree of its own on this branch; "": it works in Cwd itself
	Cwd      string // absolute; "": PipelineSettings.Cwd
	Steps    []StepChoice
}

const (
	maxTitle   = 200       // characters
	maxRequest = 256 << 10 // bytes of a pipeline's prompt
	maxComment = 10_000    // characters of a comment on an approval
)

// CreatePipeline commits a new pipeline's row; the pipeline's lane does the work. If the host has no room, the pipeline
// is pending.
func (room *Room) CreatePipeline(ctx context.Context, in NewPipeline) (daemon.Pipeline, error) {
	p, err := room.newPipeline(ctx, in)
	if err != nil {
		return daemon.Pipeline{}, err
	}
	c := &daemon.Change{NewPipeline: p, Admit: room.env.Settings().Pipeline.MaxRunning}
	p.Status, p.StartedAt = daemon.PipelineRunning, &p.CreatedAt
	c.Events = room.createdEvents(p)
	err = room.env.Commit(ctx, c)
	if errors.Is(err, daemon.ErrNoRoom) {
		p.Status, p.StartedAt, p.Note, c.Admit = daemon.PipelinePending, nil, noteRoom, 0
		c.Events = room.createdEvents(p)
		err = room.env.Commit(ctx, c)
	}
	if err != nil {
		return daemon.Pipeline{}, fmt.Errorf("new pipeline %d: %w", p.ID, err)
	}
	return *p, nil // the row as it was created; its lane may have changed it since
}

func (room *Room) createdEvents(p *daemon.Pipeline) []*event.Event {
	events := []*event.Event{room.env.PipelineEvent(event.PipelineCreated, p, nil, map[string]any{
		"template": p.Template, "steps": len(p.Steps), "cwd": p.Cwd, "branch": p.Branch, "warnings": p.Warnings,
	})}
	if len(p.Warnings) > 0 {
		events = append(events, room.warningEvent(p))
	}
	return events
}

// newPipeline checks the input and makes the row, with copies of the template and of the personas that play its steps.
func (room *Room) newPipeline(ctx context.Context, in NewPipeline) (*daemon.Pipeline, error) {
	t, err := room.template(in.Template)
	if err != nil {
		return nil, err
	}
	if err := checkRequest(&in); err != nil {
		return nil, err
	}
	if err := checkChoices(in.Steps, len(t.Steps)); err != nil {
		return nil, err
	}
	if in.Cwd == "" {
		in.Cwd = room.env.Settings().Pipeline.Cwd
	}
	if in.Cwd == "" {
		return nil, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadDirectory, "No directory to work in: name one as cwd, or set pipeline.cwd in config.yaml")
	}
	if err := agents.CheckDirectory(in.Cwd); err != nil {
		return nil, err
	}
	now := room.env.Now()
	p := &daemon.Pipeline{
		Title: in.Title, Template: t.Name, Prompt: in.Prompt, Cwd: filepath.Clean(in.Cwd), Host: room.env.Host,
		Warnings: []string{}, CreatedAt: now, UpdatedAt: now,
	}
	if in.Branch != "" {
		p.Branch = &in.Branch
	} else {
		p.WorkDir = p.Cwd
		warning, err := room.sharedWarning(ctx, p)
		if err != nil {
			return nil, err
		}
		if warning != "" {
			p.Warnings = append(p.Warnings, warning)
		}
	}
	if p.ID, err = room.store.NextID(ctx, daemon.PipelineIDs); err != nil {
		return nil, err
	}
	for i, ts := range t.Steps {
		s := daemon.Step{
			PipelineID: p.ID, OrderIndex: i, AgentName: ts.Agent, Description: ts.Description, Prompt: ts.Prompt, Approval: ts.Approval,
			RemindAfter: ts.RemindAfter, Timeout: ts.Timeout, Status: daemon.StepPending, AgentIDs: []int64{},
			Number: i + 1, Round: 1, Next: ts.Next, Otherwise: ts.Otherwise, MaxRounds: ts.MaxRounds,
		}
		if s.ID, err = room.store.NextID(ctx, daemon.StepIDs); err != nil {
			return nil, err
		}
		s.Runtime, s.Model = chosen(&ts, in.Steps, i+1)
		if err := room.checkStepRuntime(&s); err != nil {
			return nil, err
		}
		who, err := room.castOf(ts.Agent)
		if err == nil {
			play(&s, who)
		} else { // somebody may make the persona before the step is reached; if not, the step fails
			p.Warnings = append(p.Warnings, fmt.Sprintf(nobodyPlays+"%d: %s; put that right before the run gets there.", i+1, words.TrimDot(err.Error())))
		}
		if warning := room.silentWarning(&s); warning != "" {
			p.Warnings = append(p.Warnings, warning)
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

// nobodyPlays begins the warning that no persona plays a step. When the pipeline is done, finish finds the warning by
// these words and removes it, because the pipeline got past that step.
const nobodyPlays = "Nobody can play step "

// template returns a template. If it does not exist or is broken, the error is a 422.
func (room *Room) template(name string) (personas.Template, error) {
	t, err := room.templates.Get(name)
	switch {
	case errors.Is(err, personas.ErrNoTemplate):
		return t, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownTemplate, "Template %q does not exist: `understudy pipeline templates` shows those that do", name)
	case err == nil:
		err = t.CheckRoutes()
	}
	if err != nil {
		return t, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeTemplateBroken, "Template %q can't be used: %s", name, words.TrimDot(err.Error()))
	}
	return t, nil
}

func checkRequest(in *NewPipeline) error {
	in.Title = strings.TrimSpace(in.Title)
	switch {
	case in.Title == "":
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadTitle, "title is missing: say in a few words what the pipeline is for")
	case strings.TrimSpace(in.Prompt) == "":
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadPrompt, "prompt is missing: say what is to be done")
	case len(in.Prompt) > maxRequest:
		return daemon.Errorf(daemon.KindTooLarge, daemon.CodePromptTooLong, "prompt has %d bytes but at most %d are taken: put it into a file and name that", len(in.Prompt), maxRequest)
	case in.Branch != "" && !worktree.ValidBranch(in.Branch):
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadBranch, "branch %.80q is not a name that git takes", in.Branch)
	}
	if err := daemon.CheckLine("title", in.Title, maxTitle); err != nil {
		return err
	}
	return checkText("prompt", in.Prompt)
}

// checkText refuses a field with control characters, because a terminal could act on them.
func checkText(field, s string) error {
	if !utf8.ValidString(s) {
		return daemon.Errorf(daemon.KindInvalid, daemon.BadField(field), "%s is not valid UTF-8", field)
	}
	if r, i := deliveries.ControlIn(s, "\n\t\r"); i >= 0 {
		return daemon.Errorf(daemon.KindInvalid, daemon.BadField(field), "%s has the control character U+%04X at byte %d: it could do more than be read", field, r, i)
	}
	return nil
}

// sharedWarning returns the warning that other pipelines work in the directory of a pipeline; "": no other pipeline does.
func (room *Room) sharedWarning(ctx context.Context, p *daemon.Pipeline) (string, error) {
	places, err := room.store.PipelinePlaces(ctx, p.Host)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, other := range places {
		if other.ID != p.ID && other.WorkDir != "" && sameDirectory(other.WorkDir, p.WorkDir) {
			ids = append(ids, strconv.FormatInt(other.ID, 10))
		}
	}
	others := "Pipeline %s works in %s as well: "
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
	default:
		others = "Pipelines %s work in %s as well: "
	}
	return fmt.Sprintf(others, strings.Join(ids, ", "), p.WorkDir) + sharedAdvice, nil
}

// sharedAdvice ends the warning of sharedWarning. warnShared finds the warning by these words.
const sharedAdvice = "they may overwrite each other's files; give each a branch of its own."

// warnShared adds the warning about other pipelines in the same directory when a step begins, if the pipeline does not
// have it yet. A pipeline lacks it if the other pipeline was created at the same time, or was created or resumed later.
func (r *pipelineRun) warnShared(c *daemon.Change) error {
	if slices.ContainsFunc(r.p.Warnings, func(w string) bool { return strings.HasSuffix(w, sharedAdvice) }) {
		return nil
	}
	warning, err := r.room.sharedWarning(r.ctx, r.p)
	if err != nil || warning == "" {
		return err
	}
	r.p.Warnings = append(r.p.Warnings, warning)
	c.Events = append(c.Events, r.room.warningEvent(r.p))
	return nil
}

// warningEvent makes the alert about a pipeline's warnings.
func (room *Room) warningEvent(p *daemon.Pipeline) *event.Event {
	e := room.env.PipelineEvent(event.PipelineWarning, p, nil, map[string]any{"message": fmt.Sprintf(
		"Pipeline %d (%s): %s See `understudy pipeline show %[1]d`.", p.ID, p.Title, strings.Join(p.Warnings, " "))})
	e.Alert = true
	return e
}

// sameDirectory reports whether two paths lead to one directory.
func sameDirectory(a, b string) bool {
	if a == b {
		return true
	}
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// castOf returns the persona that plays a step. agent is the slug of a persona, or a role: then castOf returns the first
// persona of that role.
func (room *Room) castOf(agent string) (personas.Persona, error) {
	if _, err := personas.ParseSlug(agent); err == nil {
		if p, err := room.env.Persona(agent); err == nil || !errors.Is(err, personas.ErrNotFound) && !unknownPersona(err) {
			return p, err
		}
	}
	for _, p := range room.personas.List() {
		if p.Role == agent && !p.Archived && p.Problem == "" {
			return room.env.Persona(p.Slug)
		}
	}
	return personas.Persona{}, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownPersona, "Persona %q does not exist, as a slug or as a role: `understudy persona list` shows those that do", agent)
}

func unknownPersona(err error) bool {
	var told *daemon.Error
	return errors.As(err, &told) && told.Code == daemon.CodeUnknownPersona
}

// TemplateProblem tells the operator about a template whose file can't be used.
func (room *Room) TemplateProblem(t personas.Template) {
	stays := "it can't be run until that is mended"
	if len(t.Steps) > 0 {
		stays = fmt.Sprintf("what %q held before stays in use", t.Name)
	}
	room.env.Alert(event.TemplateBroken, fmt.Sprintf("%s; %s: see `understudy pipeline templates`.", words.TrimDot(t.Problem), stays))
}
