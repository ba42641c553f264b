package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// NewAgent is the input of [Launcher.CreateAgent].
type NewAgent struct {
	Persona string `json:"persona"`           // its slug; "": none
	Cwd     string `json:"cwd"`               // absolute
	Runtime string `json:"runtime"`           // "": the persona's runtime; if there is none, claude
	Prompt  string `json:"prompt"`            // delivered as soon as the agent has registered; "": none
	Name    string `json:"name"`              // "": the persona's slug; without a persona, the last element of Cwd
	Columns int    `json:"columns,omitempty"` // of its pane; 0: the default
	Rows    int    `json:"rows,omitempty"`    // of its pane; 0: the default

	Model          string   `json:"model,omitempty"`           // "": as the persona and the runtime say
	PermissionMode string   `json:"permission_mode,omitempty"` // in the runtime's own words; "": as the runtime says
	Args           []string `json:"args,omitempty"`            // added to the runtime's command
	Sandbox        bool     `json:"sandbox,omitempty"`         // runs in a sandbox, also if its persona does not say so
	// Worktree asks for a work tree of its own, of the repository that holds Cwd; nil: it works in Cwd itself.
	Worktree *NewWorktree `json:"worktree,omitempty"`
}

// CreateAgent commits a new agent's row. The agent's lane makes the pane later.
func (d *Launcher) CreateAgent(ctx context.Context, in NewAgent) (daemon.Agent, error) {
	a, err := d.newAgent(in)
	if err != nil {
		return daemon.Agent{}, err
	}
	if err := sandboxWorks(ctx, d, a); err != nil {
		return daemon.Agent{}, err
	}
	if in.Name == "" {
		branch := ""
		if in.Worktree != nil {
			branch = in.Worktree.Branch
		}
		if a.Name, err = FreeName(ctx, d.Store, a, branch); err != nil {
			return daemon.Agent{}, err
		}
	}
	if a.ID, err = d.Store.NextID(ctx, daemon.AgentIDs); err != nil {
		return daemon.Agent{}, err
	}
	a.TmuxSession = TmuxSession(a.Name, a.ID)
	c := &daemon.Change{NewAgent: a, Events: []*event.Event{d.Event(event.AgentCreated, &a.ID, nil, map[string]any{
		"persona": a.Persona, "generation": a.Generation, "name": a.Name,
	})}}
	if in.Worktree != nil {
		if c.NewWorktree, err = d.planForAgent(ctx, a, *in.Worktree); err != nil {
			return daemon.Agent{}, err
		}
	}
	if in.Prompt != "" {
		dl, err := d.NewMessage(ctx, a.ID, in.Prompt, false)
		if err != nil {
			return daemon.Agent{}, err
		}
		a.StartWith(dl)
		c.NewDeliveries = []*daemon.Delivery{dl}
	}
	if err := d.Commit(ctx, c); err != nil {
		return daemon.Agent{}, fmt.Errorf("new agent %d: %w", a.ID, err)
	}
	return d.Agent(ctx, a.ID)
}

// newAgent checks the input and makes the row, without its id.
func (d *Launcher) newAgent(in NewAgent) (*daemon.Agent, error) {
	now := d.Now()
	a := &daemon.Agent{
		Runtime: in.Runtime, Host: d.Host, State: daemon.Starting, StateAt: now, AgentSession: daemon.AgentSession{Cwd: filepath.Clean(in.Cwd)}, Generation: 1,
		CreatedAt: now, Managed: true, AgentPane: daemon.AgentPane{PaneColumns: in.Columns, PaneRows: in.Rows},
	}
	if err := checkSize(in.Columns, in.Rows); err != nil {
		return nil, err
	}
	if in.Persona != "" {
		p, err := d.Persona(in.Persona)
		if err != nil {
			return nil, err
		}
		a.Persona, a.Name = &p.Slug, p.Slug
		a.Runtime = cmp.Or(in.Runtime, p.Runtime)
		if err := d.CheckFallback(&p); err != nil {
			return nil, err
		}
	}
	a.Runtime = cmp.Or(a.Runtime, claude.Runtime.Name)
	if err := d.CheckRuntime(a.Runtime); err != nil {
		return nil, err
	}
	if err := d.chooseLaunch(a, &in); err != nil {
		return nil, err
	}
	if err := CheckDirectory(in.Cwd); err != nil {
		return nil, err
	}
	a.Name = cmp.Or(in.Name, a.Name, filepath.Base(a.Cwd))
	if err := daemon.CheckLine("name", a.Name, MaxName); err != nil {
		return nil, err
	}
	if err := CheckName(a.Name); err != nil {
		return nil, err
	}
	return a, nil
}

// chooseLaunch checks what somebody has chosen for the agent's launch, and notes it on the row.
func (d *Launcher) chooseLaunch(a *daemon.Agent, in *NewAgent) error {
	for _, field := range []struct{ name, value string }{{"model", in.Model}, {"permission_mode", in.PermissionMode}} {
		if err := CheckWord(field.name, field.value); err != nil {
			return err
		}
	}
	if in.PermissionMode != "" {
		if err := d.CheckPermissionMode(a.Runtime, in.PermissionMode); err != nil {
			return err
		}
	}
	if err := d.RuntimeOf(a).CheckArgs(in.Args); err != nil {
		return daemon.Errorf(daemon.KindUnprocessable, daemon.CodeBadArgs, "The agent cannot be started with these arguments: %s", err)
	}
	a.Model, a.PermissionMode, a.Args, a.Sandbox = in.Model, in.PermissionMode, in.Args, in.Sandbox
	return nil
}

// reservedNames are the words that have another meaning where a command accepts an agent's name: `understudy handoff list`
// lists handoffs.
var reservedNames = []string{"self", "list", "show", "cancel", "retry", "help"}

// CheckName refuses a name that a command would read as an id, as a subcommand or as a flag.
func CheckName(name string) error {
	_, err := strconv.ParseInt(name, 10, 64)
	switch {
	case name == "":
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadName, "name must not be empty")
	case err == nil:
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadName, "name must not be a number: that is what agents' ids are")
	case slices.Contains(reservedNames, name):
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadName, "name must not be %q: commands take that word for something else", name)
	case strings.HasPrefix(name, "-") || strings.TrimSpace(name) != name:
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadName, "name must not begin with a hyphen, nor begin or end with a blank")
	}
	return nil
}

func checkSize(columns, rows int) error {
	for _, side := range []struct {
		name          string
		n, least, max int
	}{{"columns", columns, daemon.MinColumns, daemon.MaxColumns}, {"rows", rows, daemon.MinRows, daemon.MaxRows}} {
		if side.n != 0 && (side.n < side.least || side.n > side.max) {
			return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadSize, "%s must be a number from %d to %d", side.name, side.least, side.max)
		}
	}
	return nil
}

// Persona returns the persona with the given slug. It refuses, with a 422, a persona that does not exist, is archived or is
// broken.
func (d *Launcher) Persona(slug string) (personas.Persona, error) {
	p, err := d.Personas.Get(slug)
	switch {
	case errors.Is(err, personas.ErrNotFound):
		return p, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownPersona, "Persona %q does not exist: `understudy persona list` shows those that do", slug)
	case err != nil:
		return p, fmt.Errorf("persona %q: %w", slug, err)
	case p.Archived:
		return p, daemon.Errorf(daemon.KindUnprocessable, daemon.CodePersonaArchived, "Persona %s is archived: move personas/.archive/%s back to personas/ to play it again", slug, slug)
	case p.Problem != "":
		return p, daemon.Errorf(daemon.KindUnprocessable, daemon.CodePersonaBroken, "Persona %s cannot be played: %s", slug, p.Problem)
	}
	return p, nil
}

// ArchivePersona archives a persona with its documents. It refuses while an active agent plays the persona.
func (d *Launcher) ArchivePersona(ctx context.Context, slug string) error {
	playing, err := d.Store.Agents(ctx, daemon.AgentFilter{Persona: slug, Active: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(playing) > 0 {
		return daemon.Errorf(daemon.KindConflict, daemon.CodePersonaPlayed, "Persona %s is played by agent %d: stop that first", slug, playing[0].ID)
	}
	return d.Personas.Archive(ctx, slug)
}

// Agents lists agents, the newest first.
func (d *Launcher) Agents(ctx context.Context, f daemon.AgentFilter) ([]daemon.Agent, error) {
	return d.Store.Agents(ctx, f)
}

// AgentBySecret returns the agent that was launched with a secret.
func (d *Launcher) AgentBySecret(ctx context.Context, secret string) (daemon.Agent, error) {
	a, err := d.Store.AgentByLaunch(ctx, daemon.LaunchHash(secret))
	return a, engine.NotFoundAs(err, daemon.Errorf(daemon.KindUnauthorized, daemon.CodeUnknownLaunch, "No agent was launched with that secret"))
}

// UpdateAgent changes an active agent's row. If another writer changes the row first, UpdateAgent reads the row again and
// calls change with the new row.
func (d *Launcher) UpdateAgent(ctx context.Context, id int64, change func(a *daemon.Agent, c *daemon.Change) error) (daemon.Agent, error) {
	return d.ChangeAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if !a.Active() {
			return daemon.ErrAgentNotActive
		}
		return change(a, c)
	})
}

// ChangeAgent is UpdateAgent for an agent that may have ended. If change returns ErrUnchanged, nothing is written.
func (d *Launcher) ChangeAgent(ctx context.Context, id int64, change func(a *daemon.Agent, c *daemon.Change) error) (daemon.Agent, error) {
	for {
		a, err := d.Agent(ctx, id)
		if err != nil {
			return a, err
		}
		c := daemon.Change{Agents: []*daemon.Agent{&a}}
		switch err := change(&a, &c); {
		case errors.Is(err, engine.ErrUnchanged):
			return a, nil
		case err != nil:
			return a, err
		}
		err = d.Commit(ctx, &c)
		if errors.Is(err, daemon.ErrMoved) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return a, fmt.Errorf("agent %d: %w", id, err)
		}
		return d.Agent(ctx, id)
	}
}

// AssignPersona gives a persona to a registered agent that has none. If the agent has a pane, AssignPersona queues one
// delivery, which types the persona's skill.
func (d *Launcher) AssignPersona(ctx context.Context, id int64, slug string) (daemon.Agent, error) {
	return d.UpdateAgent(ctx, id, func(a *daemon.Agent, c *daemon.Change) error {
		if a.Persona != nil {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentHasPersona, "Agent already plays %s", *a.Persona)
		}
		if a.Sandbox {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentHasPersona, "Agent runs in a sandbox, where the files of a persona are not: start another one that plays it")
		}
		if a.Managed && a.RegisteredAt == nil { // its launch files name the persona, and the daemon may be writing them now
			return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentStarting, "Agent is being started: give it a persona when it has registered")
		}
		if err := d.CheckPersona(a.Host, slug); err != nil {
			return err
		}
		dir, err := d.DataDirOf(ctx, a.Host)
		if err != nil {
			return err
		}
		a.Persona = &slug
		c.Events = []*event.Event{d.Event(event.AgentPersonaAssigned, &a.ID, nil, map[string]any{"persona": slug})}
		if !a.HasPane() {
			return nil
		}
		dl, err := d.newSkill(ctx, a, slug, dir)
		if err != nil {
			return err
		}
		c.NewDeliveries = []*daemon.Delivery{dl}
		return nil
	})
}

// newSkill makes the delivery that points an agent to the skill of a persona. dir is the data directory of the agent's host.
func (d *Launcher) newSkill(ctx context.Context, a *daemon.Agent, slug string, dir data.Dir) (*daemon.Delivery, error) {
	ref := "skill_" + PlainName(slug, 48) + "_" + randomHex(d.Random, 4)
	last, err := d.lastHandoffs(ctx, a.Host, slug)
	if err != nil {
		return nil, err
	}
	text, err := skillPrompt{
		Ref: ref, Persona: slug, Skill: filepath.Join(dir.Persona(slug), "skill.md"), Experience: ExperiencePath(dir, slug), Last: last,
	}.text()
	if err != nil {
		return nil, err
	}
	id, err := d.Store.NextID(ctx, daemon.DeliveryIDs)
	return daemon.NewDelivery(id, a.ID, daemon.KindSkill, text, ref, d.Now()), err
}

// MaxName is the longest name of an agent, in characters.
const MaxName = 80

// CheckPersona refuses a persona that agents cannot play. Only the daemon of a host knows the personas of that host, so for
// another host CheckPersona checks only the form of the slug.
func (d *Launcher) CheckPersona(host, slug string) error {
	if host == d.Host {
		_, err := d.Persona(slug)
		return err
	}
	if _, err := personas.ParseSlug(slug); err != nil {
		return &daemon.Error{Kind: daemon.KindUnprocessable, Code: daemon.CodeUnknownPersona, Message: "Persona " + strconv.Quote(slug) + " does not exist: `understudy persona list` shows those that do", Cause: err}
	}
	return nil
}
