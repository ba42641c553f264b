package agents

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// CheckWord refuses a value that would not be one argument of a command, or that the command would read as a flag.
func CheckWord(field, value string) error {
	if err := daemon.CheckLine(field, value, 100); err != nil {
		return err
	}
	if strings.HasPrefix(value, "-") || strings.ContainsAny(value, " ") {
		return daemon.Errorf(daemon.KindInvalid, daemon.BadField(field), "%s must be one word that does not begin with a hyphen", field)
	}
	return nil
}

// CheckPermissionMode refuses a permission mode that a runtime does not have; the error is a 422.
func (d *Launcher) CheckPermissionMode(runtime, mode string) error {
	rt, err := d.Settings().RuntimeNamed(runtime)
	if err != nil || !slices.Contains(rt.Modes, mode) {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadPermissionMode, "Runtime %s has no permission mode %q: it has %s",
			runtime, mode, cmp.Or(strings.Join(rt.Modes, ", "), "none"))
	}
	return nil
}

// HeadingsFor returns the headings that roles require, each once.
func (d *Launcher) HeadingsFor(roles []string) (titles []string) {
	if !d.Settings().Handoff.ValidateContext {
		return nil
	}
	req, _ := data.ReadRequirements(d.Data.Requirements()) // after an error req holds the shipped ones; validate warns about it
	for _, role := range roles {
		for _, name := range req.Of(role) {
			if title := data.HeadingTitle(name); !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
	}
	return titles
}

// RoleOf returns the role in a persona's slug. If the slug has no role, it returns the slug itself.
func RoleOf(slug string) string {
	s, err := personas.ParseSlug(slug)
	if err != nil {
		return slug
	}
	return s.Role
}

// inheritedFiles returns the paths of the document and the context file that an heir with another persona than the outgoing
// agent reads. They are in the outgoing persona's folder.
func (d *Launcher) inheritedFiles(ctx context.Context, a *daemon.Agent) (paths []string, err error) {
	if a.PreviousAgentID == nil {
		return nil, nil
	}
	list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{SuccessorID: a.ID, Limit: 1})
	if err != nil || len(list) == 0 || list[0].Persona == a.PersonaSlug() {
		return nil, err
	}
	paths = append(paths, list[0].FilePath)
	if list[0].ContextPath != nil {
		paths = append(paths, *list[0].ContextPath)
	}
	return paths, nil
}

// lastHandoffs returns the newest three recorded documents of a persona, the newest first. Only documents on the
// given host are named, because agents can read them only there.
func (d *Launcher) lastHandoffs(ctx context.Context, host, slug string) ([]string, error) {
	const most = 3
	var paths []string
	for _, name := range append([]string{slug}, d.formerSlugs(slug)...) { // the newest name first
		list, err := d.Store.Handoffs(ctx, daemon.HandoffFilter{Persona: name, Host: host, Limit: 50})
		if err != nil {
			return nil, fmt.Errorf("handoffs of %s: %w", name, err)
		}
		for i := range list {
			if list[i].RecordedAt == nil || len(paths) == most {
				continue
			}
			file := list[i].FilePath
			if name != slug { // the folder was renamed, and the rows say what was
				file = filepath.Join(d.Data.Handoffs(slug), filepath.Base(file))
			}
			paths = append(paths, file)
		}
	}
	return paths, nil
}

// NewSuccessor makes the row of a's successor.
func (d *Launcher) NewSuccessor(ctx context.Context, a *daemon.Agent, now time.Time) (*daemon.Agent, error) {
	id, err := d.Store.NextID(ctx, daemon.AgentIDs)
	if err != nil {
		return nil, err
	}
	return SuccessorOf(d, a, id, now), nil
}

// ModelFits reports whether the model in a persona's file is one of the given runtime. A persona's model belongs to the
// persona's runtime.
func ModelFits(p *personas.Persona, runtime string) bool {
	return cmp.Or(p.Runtime, claude.Runtime.Name) == runtime
}

// SuccessorOf returns the row of a's successor with the given id.
func SuccessorOf(d *Launcher, a *daemon.Agent, id int64, now time.Time) *daemon.Agent {
	return &daemon.Agent{
		ID: id, Name: a.Name, Persona: a.Persona, Runtime: a.Runtime, Host: d.Host, State: daemon.Starting, StateAt: now, CreatedAt: now, Managed: true,
		AgentTurn:    daemon.AgentTurn{Asked: PassedOn(a), NotifyFinished: a.NotifyFinished},
		AgentPane:    daemon.AgentPane{TmuxSession: TmuxSession(a.Name, id), PaneColumns: a.PaneColumns, PaneRows: a.PaneRows},
		AgentSession: daemon.AgentSession{Cwd: a.Cwd, Repository: a.Repository, Branch: a.Branch},
		Generation:   a.Generation + 1, PreviousAgentID: &a.ID, PipelineID: a.PipelineID, StepID: a.StepID, WorktreeID: a.WorktreeID,
		Options: a.Options, Args: a.Args, Sandbox: a.Sandbox, Model: a.Model, PermissionMode: a.PermissionMode, Effort: a.Effort, Account: a.Account,
		Reading: d.RuntimeOf(a).Can.Reads.Shown(),
	}
}

// formerSlugs returns the slugs that a persona had before, the newest first.
func (d *Launcher) formerSlugs(slug string) []string {
	p, err := d.Personas.Get(slug)
	if err != nil || p.Former == "" {
		return nil
	}
	former := strings.Split(p.Former, ",")
	slices.Reverse(former)
	return former
}
