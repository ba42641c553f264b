package handoffs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/personas"
)

// maxHeirs is the most heirs that a handoff can have.
const maxHeirs = 8

// checkHeirs checks the heirs of a request.
func (in *HandoffRequest) checkHeirs() error {
	if len(in.Heirs) > maxHeirs {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadHeirs, "A handoff can have at most %d heirs, and this one names %d", maxHeirs, len(in.Heirs))
	}
	if in.InPlace != nil && *in.InPlace && (in.Keep || len(in.Heirs) > 1) {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadHeirs, "In place only one successor can take over, and the agent ends: leave out in_place, or keep and the other heirs")
	}
	for i := range in.Heirs {
		heir := &in.Heirs[i]
		for _, field := range []struct{ name, value string }{
			{"persona", heir.Persona}, {"runtime", heir.Runtime}, {"model", heir.Model}, {"permission_mode", heir.PermissionMode},
		} {
			if err := agents.CheckWord(field.name, field.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// heirsOf returns the rows of a request's heirs. Without heirs there is one, which is as the outgoing agent.
func (d *Flow) heirsOf(a *daemon.Agent, in *HandoffRequest) ([]daemon.HandoffHeir, error) {
	asked := in.Heirs
	if len(asked) == 0 {
		asked = []daemon.Heir{{}}
	}
	if err := d.allowHeirs(a, in); err != nil {
		return nil, err
	}
	rows := make([]daemon.HandoffHeir, 0, len(asked))
	for _, heir := range asked {
		heir, err := d.resolveHeir(a, heir)
		if err != nil {
			return nil, err
		}
		rows = append(rows, daemon.HandoffHeir{Heir: heir})
	}
	if a.StepID == nil {
		return rows, nil
	}
	if len(rows) > 1 || in.Keep || len(rows) == 1 && rows[0].Persona != *a.Persona {
		return nil, daemon.Errorf(daemon.KindConflict, daemon.CodeAgentOfStep,
			"Agent works for a step of pipeline %d, which one agent of that persona does: hand it over to one successor of its own persona", *a.PipelineID)
	}
	return rows, nil
}

// allowHeirs refuses heirs that the operator does not let an agent choose for itself.
func (d *Flow) allowHeirs(a *daemon.Agent, in *HandoffRequest) error {
	if !in.Self {
		return nil
	}
	targets := d.Settings().Handoff.Targets
	refuse := func(what string) error {
		return daemon.Errorf(daemon.KindForbidden, daemon.CodeHeirNotAllowed, "An agent may not hand itself over %s: the operator can, or can allow it with handoff.targets in config.yaml", what)
	}
	for _, heir := range in.Heirs {
		switch slug := cmp.Or(heir.Persona, *a.Persona); {
		case heir.PermissionMode != "":
			return daemon.Errorf(daemon.KindForbidden, daemon.CodeHeirNotAllowed, "An agent may not choose the permission mode of its successor: only the operator can")
		case slug != *a.Persona && !slices.Contains(targets, slug) && !slices.Contains(targets, "*"):
			return refuse("to the persona " + slug)
		}
	}
	switch {
	case len(targets) > 0:
		return nil
	case in.Keep:
		return refuse("and stay")
	case len(in.Heirs) > 1:
		return refuse("to several heirs")
	}
	return nil
}

// resolveHeir checks an heir and fills in what follows from the outgoing agent and from the persona. Only the agent's own
// host knows its personas and runtimes; for another host resolveHeir checks the words alone, and that host resolves the
// heir when it starts it. Resolving an heir again changes nothing.
func (d *Flow) resolveHeir(a *daemon.Agent, heir daemon.Heir) (daemon.Heir, error) {
	other := heir.Persona != "" && heir.Persona != *a.Persona
	heir.Persona = cmp.Or(heir.Persona, *a.Persona)
	if a.Host != d.Host {
		if err := d.CheckPersona(a.Host, heir.Persona); err != nil {
			return heir, err
		}
		if _, err := d.Settings().RuntimeNamed(heir.Runtime); heir.Runtime != "" && err != nil {
			return heir, daemon.Errorf(daemon.KindUnprocessable, daemon.CodeUnknownRuntime, "Runtime %q is not known on this host: ask the daemon of host %s", heir.Runtime, a.Host)
		}
		return heir, nil
	}
	var p personas.Persona
	if other {
		var err error
		if p, err = d.Persona(heir.Persona); err != nil {
			return heir, err
		}
	}
	changed := heir.Runtime != "" || p.Runtime != ""
	heir.Runtime = cmp.Or(heir.Runtime, p.Runtime, a.Runtime)
	if changed {
		if err := d.CheckRuntime(heir.Runtime); err != nil {
			return heir, err
		}
	}
	if heir.Model == "" && agents.ModelFits(&p, heir.Runtime) {
		heir.Model = p.Model
	}
	if heir.PermissionMode == "" {
		return heir, nil
	}
	return heir, d.CheckPermissionMode(heir.Runtime, heir.PermissionMode)
}

// heirNames names the agents that take over, for the handoff's ref and its target_agent.
func heirNames(a *daemon.Agent, heirs []daemon.HandoffHeir) string {
	var names []string
	for i := range heirs {
		names = append(names, HeirName(a, &heirs[i].Heir))
	}
	return strings.Join(names, "+")
}

// HeirName returns the name of an heir's agent. An heir that plays what the outgoing agent plays has its name. A name that
// somebody has given to the outgoing agent names the work, so the heir has it too, whatever it plays.
func HeirName(a *daemon.Agent, heir *daemon.Heir) string {
	if heir.Persona == *a.Persona || !agents.IsNameOf(a.Name, *a.Persona) {
		return a.Name
	}
	return heir.Persona
}

// canHandOver is [CanStart] for all successors that a handoff of an agent would have.
func canHandOver(ctx context.Context, d *Flow, a *daemon.Agent, heirs []daemon.HandoffHeir) error {
	if a.Host != d.Host {
		return nil
	}
	for _, heir := range heirs { // a copy: nothing is decided yet
		next := agents.SuccessorOf(d.Supervisor.Launcher, a, 0, d.Now())
		if err := becomeHeir(d, a, next, &heir); err != nil {
			return err
		}
		if err := agents.CanStart(ctx, d.Supervisor.Launcher, next); err != nil {
			return err
		}
	}
	return nil
}

// becomeHeir makes a successor what an heir is to be.
func becomeHeir(d *Flow, a, next *daemon.Agent, heir *daemon.HandoffHeir) error {
	resolved, err := d.resolveHeir(a, heir.Heir)
	if err != nil {
		return err
	}
	heir.Heir = resolved
	next.Name, next.Persona, next.Runtime = HeirName(a, &resolved), &resolved.Persona, resolved.Runtime
	next.TmuxSession = agents.TmuxSession(next.Name, next.ID)
	if next.Runtime != a.Runtime { // these are words of the other runtime
		next.Options, next.Args, next.Model, next.Effort = nil, nil, "", ""
		next.PermissionMode = d.RuntimeOf(next).NarrowMode(d.RuntimeOf(a), d.launchedMode(a))
		next.Reading = d.RuntimeOf(next).Can.Reads.Shown()
	}
	if resolved.Model != "" && resolved.Model != a.Model { // a level means something else for another model
		next.Effort = ""
	}
	next.Model, next.PermissionMode = cmp.Or(resolved.Model, next.Model), cmp.Or(resolved.PermissionMode, next.PermissionMode)
	return nil
}
