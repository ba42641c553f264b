package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// launch makes the pane of a managed agent, or finds the pane that an earlier daemon made. It can run again after a
// crash at any point: the name of the tmux session and the mark of the pane identify the pane.
func (d *Daemon) launch(ctx context.Context, a *daemon.Agent) (moved bool, again time.Duration, err error) {
	term, err := d.ownTerminal()
	if err != nil {
		return false, 0, err
	}
	place, err := d.placeOf(ctx, a)
	if err != nil {
		return false, 0, err
	}
	if a.LaunchHash != nil { // without the hash no daemon can have made a pane
		if info, ok, err := d.findPane(ctx, term, a, place); err != nil {
			return false, 0, err
		} else if ok {
			return true, 0, d.launched(ctx, a, info)
		}
		if told, err := d.replayFor(ctx, a); err != nil || told {
			return told, 0, err
		}
	}
	if a.RegisteredAt != nil || a.LastHook > 0 { // its session has begun, so make no second pane
		if d.lives(a.Process()) {
			return false, time.Second, nil
		}
		return true, 0, d.reap(ctx, a)
	}
	if a.StopAskedAt != nil {
		return true, 0, d.launchFailed(ctx, a, errors.New("somebody stopped it before it was started"))
	}
	if moved, wait, err := d.treeReady(ctx, a); moved || wait > 0 || err != nil {
		return moved, wait, err
	}
	if may, err := d.mayOpen(ctx, a); !may || err != nil {
		return false, time.Second, err
	}
	if err := d.prepareLaunch(ctx, a); err != nil {
		if retryable(err) || daemon.Unavailable(err) || ctx.Err() != nil {
			return false, 0, err
		}
		return true, 0, d.launchFailed(ctx, a, err)
	}
	spec := tmux.Spec{
		Session: a.TmuxSession, Dir: a.Cwd, Mark: paneMark(a.ID),
		Width: a.PaneColumns, Height: a.PaneRows,
		Argv: []string{d.Binary, "launch", d.launchPath(a.ID)},
	}
	if place != nil {
		if moved, again, err := d.takePlace(ctx, term, a, place, spec); moved || again > 0 || err != nil {
			return moved, again, err
		}
	}
	info, err := term.Spawn(ctx, spec)
	switch {
	case errors.Is(err, tmux.ErrExists):
		return true, 0, nil // a tmux command of an earlier daemon made the pane; the next look finds it by its mark
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tmux.ErrLost)):
		// tmux may still make the pane; the next look finds it by its mark. If its server ended, the next look makes the pane
		// anew, unless the agent was heard of.
		return false, 0, err
	case err != nil:
		// Look for the pane: tmux may have made it in spite of the error. If the agent were ended here, nobody would
		// supervise it.
		made, ok, lookErr := d.findPane(ctx, term, a, place)
		switch {
		case lookErr != nil && !errors.Is(err, tmux.ErrMissing): // ErrMissing: without the program tmux no pane was made
			return false, 0, errors.Join(err, lookErr)
		case !ok:
			return true, 0, d.launchFailed(ctx, a, err)
		}
		info = made
	}
	return true, 0, d.launched(ctx, a, info)
}

func (d *Daemon) launchPath(agentID int64) string {
	return filepath.Join(d.Data.Launch(agentID), "launch.json")
}

// paneMark is the mark of an agent's pane.
func paneMark(agentID int64) string { return strconv.FormatInt(agentID, 10) }

// findPane finds the pane that was made for an agent, or the place of its predecessor if that was taken for it.
func (d *Daemon) findPane(ctx context.Context, term Terminal, a *daemon.Agent, place *tmux.Ref) (tmux.PaneInfo, bool, error) {
	panes, err := term.List(ctx)
	if err != nil {
		return tmux.PaneInfo{}, false, fmt.Errorf("agent %d: panes: %w", a.ID, err)
	}
	for _, p := range panes {
		if p.Mark == paneMark(a.ID) && (p.Session == a.TmuxSession || place != nil && p.Ref == *place) {
			return p, true, nil
		}
	}
	return tmux.PaneInfo{}, false, nil
}

// launched commits a new agent's pane. If the agent has a managed predecessor that has ended, launched calls passOn.
func (d *Daemon) launched(ctx context.Context, a *daemon.Agent, info tmux.PaneInfo) error {
	now := d.now()
	a.SpawnedAt = &now
	a.SetPane(&info)
	if a.PID == 0 { // otherwise the hook of its SessionStart has set it
		p := tmux.Process{PID: info.PID}
		if found, err := d.Processes.Find(info.PID); err == nil {
			p.Start = found.Start
		}
		a.SetProcess(p)
	}
	e := d.event(event.AgentStarted, &a.ID, nil, map[string]any{"pane": info.Pane, "session": info.Session, "pid": a.PID})
	if err := d.commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}}); err != nil {
		return fmt.Errorf("agent %d: pane %s: %w", a.ID, info.Pane, err)
	}
	d.wakeKin(a)
	if a.PreviousAgentID != nil {
		if prev, err := d.Store.Agent(ctx, *a.PreviousAgentID); err == nil && !prev.Active() && prev.Managed {
			d.passOn(ctx, &prev, a)
		}
	}
	return nil
}

// passOn switches the people who watch an ended agent to the pane of its successor, and removes the ended agent's pane, unless
// the successor has that very pane. It only logs an error, because the switch is only for people's comfort.
func (d *Daemon) passOn(ctx context.Context, prev, next *daemon.Agent) {
	term, err := d.ownTerminal()
	if err == nil && prev.Ref() != next.Ref() {
		err = term.SwitchClients(ctx, prev.TmuxSession, next.TmuxSession)
	}
	if err != nil {
		d.Log.Debug("watchers not switched to the successor", "agent_id", prev.ID, "successor_id", next.ID, "error", err)
	}
	d.removeLeft(ctx, prev)
}

// launchFailed commits the end of an agent that could not be started, and tells the operator.
func (d *Daemon) launchFailed(ctx context.Context, a *daemon.Agent, cause error) error {
	now := d.now()
	a.Be(daemon.Ended, now)
	a.EndedAt = &now
	a.EndBy(daemon.EndedNotStarted, words.TrimDot(cause.Error()))
	e := d.event(event.AgentFailed, &a.ID, nil, map[string]any{"code": daemon.CodeStartFailed,
		"message": fmt.Sprintf("Agent %d (%s) could not be started: %s; put that right and start it anew with `understudy agent start`.", a.ID, a.Name, words.TrimDot(cause.Error()))})
	e.Alert = a.StopAskedAt == nil // if it was asked to stop, somebody wanted its end
	c := &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{e}}
	if err := d.commit(ctx, c); err != nil {
		return fmt.Errorf("agent %d: %w", a.ID, err)
	}
	d.cleanUp(ctx, a)
	if a.StopAskedAt != nil && a.PreviousAgentID != nil { // the predecessor's pane was kept for this agent
		if prev, err := d.Store.Agent(ctx, *a.PreviousAgentID); err == nil && !prev.Active() {
			d.removeLeft(ctx, &prev)
		}
	}
	d.wakeKin(a)
	return nil
}

// prepareLaunch writes the launch files and commits the hash of the secret in them. If the files of an earlier attempt
// hold the committed secret, it keeps them, because a tmux command of a dead daemon may still read them.
func (d *Daemon) prepareLaunch(ctx context.Context, a *daemon.Agent) error {
	if d.launchFilesFit(a) {
		return nil
	}
	environ, secrets, lost, err := launchEnviron(ctx, d, a)
	if err != nil {
		return fmt.Errorf("agent %d: account: %w", a.ID, err)
	}
	launch, err := d.launchPlan(ctx, a)
	if err != nil {
		return err
	}
	secret := randomHex(d.Random, 32)
	a.LaunchHash = launchHash(secret)
	a.BeginSession(launch.SessionID)
	file := hooks.LaunchFile{Argv: launch.Argv, Env: append(environ,
		"UNDERSTUDY_AGENT_ID="+strconv.FormatInt(a.ID, 10),
		"UNDERSTUDY_LAUNCH="+secret,
		"UNDERSTUDY_SOCKET="+d.Data.HookSocket(),
		"UNDERSTUDY_PERSONA="+a.PersonaSlug(),
		"UNDERSTUDY_PREVIOUS_AGENT_ID="+OptionalID(a.PreviousAgentID),
	)}
	file.Env = with(file.Env, launch.Env)
	if err := os.MkdirAll(d.Data.Launch(a.ID), 0o700); err != nil {
		return err
	}
	if err := errors.Join(writeLinks(launch.Links), writeFiles(launch.Files), d.accounts.keep(a.ID, secrets)); err != nil {
		return err
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
		e := d.event(event.AgentAccountLost, &a.ID, nil, told)
		e.Alert = true
		c.Events = append(c.Events, e)
	}
	if err := d.commit(ctx, &c); err != nil {
		return fmt.Errorf("agent %d: launch secret: %w", a.ID, err)
	}
	return nil
}

// launchPlan returns the command line, the files and the session id with which an agent's runtime is launched.
func (d *Daemon) launchPlan(ctx context.Context, a *daemon.Agent) (runtimes.Launch, error) {
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	if err != nil {
		return runtimes.Launch{}, err
	}
	command := d.Settings().Runtimes[a.Runtime]
	if len(command) == 0 {
		return runtimes.Launch{}, fmt.Errorf("runtime %s has no command: set runtimes.%s.command in config.yaml", a.Runtime, a.Runtime)
	}
	session, err := uuid.NewRandomFromReader(d.Random)
	if err != nil {
		return runtimes.Launch{}, fmt.Errorf("session id: %w", err)
	}
	spec := runtimes.Spec{
		AgentID: a.ID, Name: a.Name, SessionID: session.String(), Resume: a.Resume, Cwd: a.Cwd,
		Command: command, Args: a.Args, Options: a.Options, Model: a.Model, Mode: a.PermissionMode, Effort: a.Effort, Binary: d.Binary, Dir: d.Data.Launch(a.ID),
	}
	pipeline, step, err := d.stepOf(ctx, a)
	if err != nil {
		return runtimes.Launch{}, err
	}
	if a.Persona != nil {
		if err := d.planPersona(ctx, a, &spec, step); err != nil {
			return runtimes.Launch{}, err
		}
	}
	if step != nil {
		if err := d.planStep(ctx, a, &spec, pipeline, step); err != nil {
			return runtimes.Launch{}, err
		}
	}
	if rt.Can.Registers == runtimes.RegistersByServer {
		if spec.Server.Port, err = d.FreePort(); err != nil {
			return runtimes.Launch{}, fmt.Errorf("port of the agent's server: %w", err)
		}
		spec.Server.Password = randomHex(d.Random, 32)
	}
	if rt.OwnHome != nil {
		if spec.User, err = d.userHome(rt.OwnHome, a.Account); err != nil {
			return runtimes.Launch{}, err
		}
	}
	spec.Version = d.Version(ctx, command)
	if rt.CheckVersion != nil {
		if err := rt.CheckVersion(spec.Version); err != nil {
			return runtimes.Launch{}, err
		}
	}
	launch, err := rt.Launch(spec)
	if err == nil && spec.Server.Port != 0 {
		var b []byte
		b, err = json.Marshal(spec.Server)
		launch.Files = append(launch.Files, runtimes.File{Path: filepath.Join(spec.Dir, serverFile), Content: b})
	}
	return launch, err
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
func (d *Daemon) planPersona(ctx context.Context, a *daemon.Agent, spec *runtimes.Spec, step *daemon.Step) error {
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
	if spec.Model == "" && len(a.Options) == 0 && ModelFits(&p, a.Runtime) {
		spec.Model = p.Model
	}
	handoffs := d.Data.Handoffs(p.Slug)
	if err := os.MkdirAll(handoffs, 0o700); err != nil {
		return err
	}
	spec.MayEdit = []string{handoffs + "/", experiencePath(d.Data, p.Slug)}
	inherited, err := d.inheritedFiles(ctx, a)
	if err != nil {
		return err
	}
	spec.MayRead = append(spec.MayRead, inherited...)
	return bringSlash(spec, d.configDir(a), d.Program)
}

// skillText is the text that a persona's agent starts with.
func skillText(p personas.Persona, last []string) string {
	text := "# You play the persona " + p.Slug + "\n\n" + strings.TrimSpace(p.Skill) + "\n"
	if exp := data.WithoutComments(p.Experience); exp != "" { // a new file has a comment for people
		text += "\n# What those before you want you to know\n\n" + exp + "\n"
	}
	if len(last) > 0 {
		text += "\n# The last handoffs of this persona\n\nThe newest first; read them when you need what they tell:\n\n- " + strings.Join(last, "\n- ") + "\n"
	}
	return text
}

// TmuxSession returns the name that people see in `tmux ls`. The id makes it unique, and none of its characters is
// special to tmux.
func TmuxSession(name string, id int64) string {
	return daemon.PlainName(name, 60) + "-" + strconv.FormatInt(id, 10)
}

// launchHash returns the SHA-256 of a launch secret. The database stores it instead of the secret.
func launchHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
