package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

func (d *Launcher) launchPath(agentID int64) string {
	return filepath.Join(d.Data.Launch(agentID), "launch.json")
}

// findPane finds the pane that was made for an agent, or the place of its predecessor if that was taken for it.
func (d *Launcher) findPane(ctx context.Context, term engine.Terminal, a *daemon.Agent, place *tmux.Ref) (tmux.PaneInfo, bool, error) {
	panes, err := term.List(ctx)
	if err != nil {
		return tmux.PaneInfo{}, false, fmt.Errorf("agent %d: panes: %w", a.ID, err)
	}
	for _, p := range panes {
		if p.Mark == engine.PaneMark(a.ID) && (p.Session == a.TmuxSession || place != nil && p.Ref == *place) {
			return p, true, nil
		}
	}
	return tmux.PaneInfo{}, false, nil
}

// launched commits a new agent's pane. If the agent has a managed predecessor that has ended, launched calls PassOn.
func (d *Launcher) launched(ctx context.Context, a *daemon.Agent, info tmux.PaneInfo) error {
	now := d.Now()
	a.SpawnedAt = &now
	a.SetPane(&info)
	if a.PID == 0 { // otherwise the hook of its SessionStart has set it
		p := tmux.Process{PID: info.PID}
		if found, err := d.Processes.Find(info.PID); err == nil {
			p.Start = found.Start
		}
		a.SetProcess(p)
	}
	e := d.Event(event.AgentStarted, &a.ID, nil, map[string]any{"pane": info.Pane, "session": info.Session, "pid": a.PID})
	if err := d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}}); err != nil {
		return fmt.Errorf("agent %d: pane %s: %w", a.ID, info.Pane, err)
	}
	d.WakeKin(a)
	if a.PreviousAgentID != nil {
		if prev, err := d.Store.Agent(ctx, *a.PreviousAgentID); err == nil && !prev.Active() && prev.Managed {
			d.PassOn(ctx, &prev, a)
		}
	}
	return nil
}

// prepareLaunch writes the launch files and commits the hash of the secret in them. If the files of an earlier attempt
// hold the committed secret, it keeps them, because a tmux command of a dead daemon may still read them.
func (d *Launcher) prepareLaunch(ctx context.Context, a *daemon.Agent) error {
	if d.launchFilesFit(a) {
		return nil
	}
	socket := d.Data.HookSocket()
	environ, secrets, lost, err := sight.LaunchEnviron(ctx, d.Sight, a)
	if err != nil {
		return fmt.Errorf("agent %d: account: %w", a.ID, err)
	}
	launch, box, err := d.launchPlan(ctx, a)
	if err != nil {
		return err
	}
	if a.Sandbox = box != nil; a.Sandbox {
		environ, socket = insideEnviron(d, d.RuntimeOf(a), environ), filepath.Join(d.Data.AgentRoom(), filepath.Base(socket))
	}
	secret := randomHex(d.Random, 32)
	a.LaunchHash = daemon.LaunchHash(secret)
	a.BeginSession(launch.SessionID)
	file := hooks.LaunchFile{Argv: launch.Argv, Env: append(environ,
		"UNDERSTUDY_AGENT_ID="+strconv.FormatInt(a.ID, 10),
		"UNDERSTUDY_LAUNCH="+secret,
		"UNDERSTUDY_SOCKET="+socket,
		"UNDERSTUDY_PERSONA="+a.PersonaSlug(),
		"UNDERSTUDY_PREVIOUS_AGENT_ID="+OptionalID(a.PreviousAgentID),
	)}
	file.Env = sight.With(file.Env, launch.Env)
	if err := os.MkdirAll(d.Data.Launch(a.ID), 0o700); err != nil {
		return err
	}
	if err := errors.Join(WriteLinks(launch.Links), sight.WriteFiles(launch.Files), d.Accounts.Keep(a.ID, secrets)); err != nil {
		return err
	}
	if box != nil {
		if file.Argv, err = enter(box, launch.Argv); err != nil {
			return err
		}
		if err := noteBox(d, box, a.ID); err != nil {
			return err
		}
	}
	b, err := json.Marshal(file)
	if err != nil {
		return err
	}
	if err := data.WriteFile(d.launchPath(a.ID), b, 0o600); err != nil {
		return err
	}
	d.noteBase(ctx, a)
	c := daemon.Change{Agents: []*daemon.Agent{a}}
	if told := a.NoteLost(lost); told != nil {
		e := d.Event(event.AgentAccountLost, &a.ID, nil, told)
		e.Alert = true
		c.Events = append(c.Events, e)
	}
	if err := d.Commit(ctx, &c); err != nil {
		return fmt.Errorf("agent %d: launch secret: %w", a.ID, err)
	}
	return nil
}

// launchPlan returns the command line, the files and the session id with which an agent's runtime is launched, and its sandbox; nil: it runs in
// none.
func (d *Launcher) launchPlan(ctx context.Context, a *daemon.Agent) (launch runtimes.Launch, box *sandbox.Box, err error) {
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	if err != nil {
		return launch, nil, err
	}
	command := d.Settings().Runtimes[a.Runtime]
	if len(command) == 0 {
		return launch, nil, fmt.Errorf("runtime %s has no command: set runtimes.%s.command in config.yaml", a.Runtime, a.Runtime)
	}
	session, err := uuid.NewRandomFromReader(d.Random)
	if err != nil {
		return launch, nil, fmt.Errorf("session id: %w", err)
	}
	spec := runtimes.Spec{
		AgentID: a.ID, Name: a.Name, SessionID: session.String(), Resume: a.Resume, Cwd: a.Cwd,
		Command: command, Args: a.Args, Options: a.Options, Model: a.Model, Mode: a.PermissionMode, Effort: a.Effort, Binary: d.Binary, Dir: d.Data.Launch(a.ID),
	}
	pipeline, step, err := d.StepOf(ctx, a)
	if err != nil {
		return launch, nil, err
	}
	if a.Persona != nil {
		if err := d.planPersona(ctx, a, &spec, step); err != nil {
			return launch, nil, err
		}
	}
	if step != nil {
		if err := d.planStep(ctx, a, &spec, pipeline, step); err != nil {
			return launch, nil, err
		}
	}
	if rt.Can.Registers == runtimes.RegistersByServer {
		if spec.Server.Port, err = d.FreePort(); err != nil {
			return launch, nil, fmt.Errorf("port of the agent's server: %w", err)
		}
		spec.Server.Password = randomHex(d.Random, 32)
	}
	if rt.OwnHome != nil {
		if spec.User, err = d.UserHome(rt.OwnHome, a.Account); err != nil {
			return launch, nil, err
		}
	}
	spec.Version = d.Version(ctx, command)
	if rt.CheckVersion != nil {
		if err := rt.CheckVersion(spec.Version); err != nil {
			return launch, nil, err
		}
	}
	if launch, err = rt.Launch(spec); err != nil {
		return launch, nil, err
	}
	if spec.Server.Port != 0 {
		b, err := json.Marshal(spec.Server)
		if err != nil {
			return launch, nil, err
		}
		launch.Files = append(launch.Files, runtimes.File{Path: filepath.Join(spec.Dir, sight.ServerFile), Content: b})
	}
	if asked, err := inSandbox(d, a); err != nil {
		return launch, nil, err
	} else if asked {
		box, err = boxOf(d, rt, a, &spec)
		if err == nil && a.Sandbox && a.PreviousAgentID != nil {
			err = had(d, *a.PreviousAgentID, a.Cwd)
		}
		if err != nil {
			return launch, nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	return launch, box, nil
}

// freePort returns a port of loopback on which nothing listens.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// planPersona adds the persona's skill and model to spec, and what the agent may do without asking. The agent of a step gets
// the skill and the model that its pipeline keeps, even if the persona has changed since.
func (d *Launcher) planPersona(ctx context.Context, a *daemon.Agent, spec *runtimes.Spec, step *daemon.Step) error {
	p, err := d.Personas.Get(*a.Persona)
	switch {
	case step != nil && (err != nil || p.Archived): // the persona has no folder to write to
		p = personas.Persona{Slug: *a.Persona, Skill: step.Skill, Model: step.Model, Runtime: step.Runtime}
		spec.SkillText = skillText(p, nil)
		if ModelFits(&p, a.Runtime) {
			spec.Model = cmp.Or(spec.Model, step.Model)
		}
		return nil
	case step != nil:
		p.Skill, p.Model, p.Runtime = step.Skill, step.Model, step.Runtime
	case err != nil:
		return fmt.Errorf("persona %s: %w", *a.Persona, err)
	case p.Problem != "":
		return fmt.Errorf("persona %s: %s", p.Slug, p.Problem)
	}
	last, err := d.lastHandoffs(ctx, d.Host, p.Slug)
	if err != nil {
		return err
	}
	spec.SkillText = skillText(p, last)
	if p.ExperienceCut > 0 && d.FirstTime(fmt.Sprintf("cut %s %d", p.Slug, p.ExperienceCut>>20)) {
		d.Alert(event.ExperienceCut, fmt.Sprintf("The experience.md of persona %s has grown too long: its agents are given the newest part, and not the first %d bytes; shorten it with `understudy persona edit %[1]s --experience`.",
			p.Slug, p.ExperienceCut))
	}
	if spec.Model == "" && len(a.Options) == 0 && ModelFits(&p, a.Runtime) {
		spec.Model = p.Model
	}
	handoffs := d.Data.Handoffs(p.Slug)
	if err := os.MkdirAll(handoffs, 0o700); err != nil {
		return err
	}
	spec.MayEdit = []string{handoffs + "/", ExperiencePath(d.Data, p.Slug)}
	inherited, err := d.inheritedFiles(ctx, a)
	if err != nil {
		return err
	}
	spec.MayRead = append(spec.MayRead, inherited...)
	return BringSlash(spec, d.ConfigDir(a), d.Program)
}

// skillText is the text that a persona's agent starts with.
func skillText(p personas.Persona, last []string) string {
	text := "# You play the persona " + p.Slug + "\n\n" + strings.TrimSpace(p.Skill) + "\n"
	if exp := data.WithoutComments(p.Experience); exp != "" { // a new file has a comment for people
		text += "\n# What those before you want you to know\n\n"
		if p.ExperienceCut > 0 {
			text += fmt.Sprintf("(This is the newest part. The first %d bytes of %s are left out: when your task allows, make that file shorter, and keep what still helps.)\n\n",
				p.ExperienceCut, filepath.Join(p.Dir, "experience.md"))
		}
		text += exp + "\n"
	}
	if len(last) > 0 {
		text += "\n# The last handoffs of this persona\n\nThe newest first; read them when you need what they tell:\n\n- " + strings.Join(last, "\n- ") + "\n"
	}
	return text
}

// TmuxSession returns the name that people see in `tmux ls`. The id makes it unique, and none of its characters is
// special to tmux.
func TmuxSession(name string, id int64) string {
	return PlainName(name, 60) + "-" + strconv.FormatInt(id, 10)
}
