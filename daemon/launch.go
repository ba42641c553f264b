package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// launchEvents are the hooks that the daemon acts on.
var launchEvents = []string{"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SessionEnd", "Notification", "PermissionRequest", "PreCompact"}

// launch makes a managed agent's pane, or finds the one that an earlier daemon made. It can be
// run again after a crash at any point: the session's name and the pane's mark tell.
func (d *Daemon) launch(ctx context.Context, a *Agent) (moved bool, again time.Duration, err error) {
	term, err := d.ownTerminal()
	if err != nil {
		return false, 0, err
	}
	if a.LaunchHash != nil { // else no daemon has come as far as to make a pane
		if info, ok, err := d.findPane(ctx, term, a); err != nil {
			return false, 0, err
		} else if ok {
			return true, 0, d.launched(ctx, a, info)
		}
	}
	if a.RegisteredAt != nil || a.LastHook > 0 { // it was made, and its session has begun: a second one would be nobody's
		if d.lives(a.Process()) {
			return false, time.Second, nil
		}
		return true, 0, d.reap(ctx, a)
	}
	if a.StopAskedAt != nil {
		return true, 0, d.launchFailed(ctx, a, errors.New("it was stopped before it was started"))
	}
	if err := d.prepareLaunch(ctx, a); err != nil {
		if retryable(err) || ctx.Err() != nil {
			return false, 0, err
		}
		return true, 0, d.launchFailed(ctx, a, err)
	}
	info, err := term.Spawn(ctx, tmux.Spec{
		Session: a.TmuxSession, Dir: a.Cwd, Mark: strconv.FormatInt(a.ID, 10),
		Width: a.PaneColumns, Height: a.PaneRows,
		Argv: []string{d.Binary, "launch", d.launchPath(a.ID)},
	})
	switch {
	case errors.Is(err, tmux.ErrExists):
		return true, 0, nil // made by a command that outlived an earlier daemon: found by its mark now
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		return false, 0, err // tmux may still make it: its mark will tell
	case err != nil:
		// An agent that runs must not pass for one that could not be started: nobody would look after it.
		made, ok, lookErr := d.findPane(ctx, term, a)
		switch {
		case lookErr != nil && !errors.Is(err, tmux.ErrMissing): // without a tmux nothing was made
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

func (d *Daemon) findPane(ctx context.Context, term Terminal, a *Agent) (tmux.PaneInfo, bool, error) {
	panes, err := term.List(ctx)
	if err != nil {
		return tmux.PaneInfo{}, false, fmt.Errorf("agent %d: panes: %w", a.ID, err)
	}
	for _, p := range panes {
		if p.Mark == strconv.FormatInt(a.ID, 10) && p.Session == a.TmuxSession {
			return p, true, nil
		}
	}
	return tmux.PaneInfo{}, false, nil
}

// launched commits the pane.
func (d *Daemon) launched(ctx context.Context, a *Agent, info tmux.PaneInfo) error {
	now := d.now()
	a.SpawnedAt = &now
	a.setPane(&info)
	if a.PID == 0 { // else its SessionStart was faster than we
		a.PID = info.PID
		if p, err := d.Processes.Find(info.PID); err == nil {
			a.PIDStart = p.Start
		}
	}
	e := d.event(event.AgentStarted, &a.ID, nil, map[string]any{"pane": info.Pane, "session": info.Session, "pid": a.PID})
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*event.Event{e}}); err != nil {
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

// passOn has those who watched an agent that ended watch its successor, and removes its pane. It is
// for people's comfort: what goes wrong with it fails nothing.
func (d *Daemon) passOn(ctx context.Context, prev, next *Agent) {
	term, err := d.ownTerminal()
	if err == nil {
		err = term.SwitchClients(ctx, prev.TmuxSession, next.TmuxSession)
	}
	if err != nil {
		d.Log.Debug("watchers stay where they are", "agent_id", prev.ID, "successor_id", next.ID, "error", err)
	}
	d.cleanUp(ctx, prev)
}

// notStarted begins the end's reason of an agent that could not be started.
const notStarted = "not started: "

// launchFailed ends an agent that could not be started, and says so.
func (d *Daemon) launchFailed(ctx context.Context, a *Agent, cause error) error {
	now := d.now()
	reason := notStarted + words.TrimDot(cause.Error())
	a.State, a.EndedAt, a.EndReason = Ended, &now, &reason
	e := d.event(event.AgentFailed, &a.ID, nil, map[string]any{"code": CodeStartFailed,
		"message": fmt.Sprintf("Agent %d (%s) could not be started: %s; put that right and start it anew with `understudy agent start`.", a.ID, a.Name, words.TrimDot(cause.Error()))})
	e.Alert = a.StopAskedAt == nil // else it is what somebody wanted
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}, Events: []*event.Event{e}}); err != nil {
		return fmt.Errorf("agent %d: %w", a.ID, err)
	}
	d.cleanUp(ctx, a)
	if a.StopAskedAt != nil && a.PreviousAgentID != nil { // its predecessor's pane waits for no successor any more
		if prev, err := d.Store.Agent(ctx, *a.PreviousAgentID); err == nil && !prev.Active() {
			d.cleanUp(ctx, &prev)
		}
	}
	d.wakeKin(a)
	return nil
}

// prepareLaunch writes the launch files and commits the hash of the secret in them. Files of an
// earlier attempt are kept if their secret is the one committed: a tmux command of a daemon that
// died may still be about to use them.
func (d *Daemon) prepareLaunch(ctx context.Context, a *Agent) error {
	if d.launchFilesFit(a) {
		return nil
	}
	launch, err := d.launchPlan(ctx, a)
	if err != nil {
		return err
	}
	secret := randomHex(d.Random, 32)
	a.LaunchHash = launchHash(secret)
	a.SessionID = &launch.SessionID
	file := hooks.LaunchFile{Argv: launch.Argv, Env: append(runtimes.StripEnv(d.Environ),
		"UNDERSTUDY_AGENT_ID="+strconv.FormatInt(a.ID, 10),
		"UNDERSTUDY_LAUNCH="+secret,
		"UNDERSTUDY_SOCKET="+d.Data.HookSocket(),
		"UNDERSTUDY_PERSONA="+a.PersonaSlug(),
		"UNDERSTUDY_PREVIOUS_AGENT_ID="+optionalID(a.PreviousAgentID),
	)}
	if err := os.MkdirAll(d.Data.Launch(a.ID), 0o700); err != nil {
		return err
	}
	for _, f := range launch.Files {
		if err := data.WriteFile(f.Path, f.Content, 0o600); err != nil {
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
	if err := d.commit(ctx, &Change{Agents: []*Agent{a}}); err != nil {
		return fmt.Errorf("agent %d: launch secret: %w", a.ID, err)
	}
	return nil
}

// launchFilesFit reports whether complete launch files with the committed secret are there.
func (d *Daemon) launchFilesFit(a *Agent) bool {
	b, err := os.ReadFile(d.launchPath(a.ID))
	if err != nil {
		return false
	}
	var file hooks.LaunchFile
	if json.Unmarshal(b, &file) != nil {
		return false
	}
	for _, v := range file.Env {
		if secret, ok := strings.CutPrefix(v, "UNDERSTUDY_LAUNCH="); ok {
			return bytes.Equal(launchHash(secret), a.LaunchHash)
		}
	}
	return false
}

// launchPlan turns an agent's row into what its runtime is launched with.
func (d *Daemon) launchPlan(ctx context.Context, a *Agent) (runtimes.Launch, error) {
	rt, err := runtimes.For(a.Runtime)
	if err != nil {
		return runtimes.Launch{}, err
	}
	command := d.Settings.Runtimes[a.Runtime]
	if len(command) == 0 {
		return runtimes.Launch{}, fmt.Errorf("runtime %s has no command: set runtimes.%s.command in config.yaml", a.Runtime, a.Runtime)
	}
	session, err := uuid.NewRandomFromReader(d.Random)
	if err != nil {
		return runtimes.Launch{}, fmt.Errorf("session id: %w", err)
	}
	spec := runtimes.Spec{
		AgentID: a.ID, Name: a.Name, SessionID: session.String(), Resume: a.Resume, Cwd: a.Cwd,
		Command: command, Options: a.Options, Dir: d.Data.Launch(a.ID),
	}
	run, step, err := d.stepOf(ctx, a)
	if err != nil {
		return runtimes.Launch{}, err
	}
	var allow []string
	if a.Persona != nil {
		if allow, err = d.planPersona(ctx, a, &spec, step); err != nil {
			return runtimes.Launch{}, err
		}
	}
	if step != nil {
		rule, err := d.planStep(a, &spec, run, step)
		if err != nil {
			return runtimes.Launch{}, err
		}
		allow = append(allow, rule...)
	}
	// An event that the installed version does not know would open a dialog at its start.
	version := d.Version(ctx, command)
	if err := hooks.CheckVersion(version); err != nil {
		return runtimes.Launch{}, err
	}
	known := hooks.KnownEvents(version)
	events := slices.DeleteFunc(slices.Clone(launchEvents), func(e string) bool { return !slices.Contains(known, e) })
	spec.SettingsJSON, err = hooks.LaunchSettings(d.Binary, events, allow, hooks.LaunchOptions{Exec: hooks.SupportsExecForm(version), StatusLine: true})
	if err != nil {
		return runtimes.Launch{}, err
	}
	return rt.Launch(spec)
}

// planPersona adds what the persona brings, and returns what its agents need not ask for. The agent of
// a run's step has the skill that the run keeps, whatever has become of the persona.
func (d *Daemon) planPersona(ctx context.Context, a *Agent, spec *runtimes.Spec, step *Step) (allow []string, err error) {
	p, err := d.Personas.Get(*a.Persona)
	switch {
	case step != nil && (err != nil || p.Archived): // there is no folder to write to
		spec.SkillText, spec.Model = skillText(personas.Persona{Slug: *a.Persona, Skill: step.Skill}, nil), step.Model
		return nil, nil
	case step != nil:
		p.Skill, p.Model = step.Skill, step.Model
	case err != nil:
		return nil, fmt.Errorf("persona %s: %w", *a.Persona, err)
	case p.Problem != "":
		return nil, fmt.Errorf("persona %s: %s", p.Slug, p.Problem)
	}
	last, err := d.lastHandoffs(ctx, d.Host, p.Slug)
	if err != nil {
		return nil, err
	}
	spec.SkillText = skillText(p, last)
	if len(a.Options) == 0 {
		spec.Model = p.Model
	}
	handoffs := d.Data.Handoffs(p.Slug)
	if err := os.MkdirAll(handoffs, 0o700); err != nil {
		return nil, err
	}
	allow = []string{
		"Edit(/" + handoffs + "/**)", "Read(/" + handoffs + "/**)",
		"Edit(/" + experiencePath(d.Data, p.Slug) + ")", "Read(/" + experiencePath(d.Data, p.Slug) + ")",
	}
	if ownSlash(d.configDir(a), a.Cwd) {
		allow = append(allow, "Skill(handoff)") // its own handoff is an agent's to ask for
	}
	return allow, nil
}

// skillText is what a persona's agent knows from its first moment on.
func skillText(p personas.Persona, last []string) string {
	text := "# You play the persona " + p.Slug + "\n\n" + strings.TrimSpace(p.Skill) + "\n"
	if exp := strings.TrimSpace(p.Experience); exp != "" {
		text += "\n# What those before you want you to know\n\n" + exp + "\n"
	}
	if len(last) > 0 {
		text += "\n# The last handoffs of this persona\n\nThe newest first; read them when you need what they tell:\n\n- " + strings.Join(last, "\n- ") + "\n"
	}
	return text
}

// lastHandoffs are the newest three documents of a persona that were recorded on a host, where alone they can be
// read, the newest first.
func (d *Daemon) lastHandoffs(ctx context.Context, host, slug string) ([]string, error) {
	const most = 3
	list, err := d.Store.Handoffs(ctx, HandoffFilter{Persona: slug, Host: host, Limit: 50})
	if err != nil {
		return nil, fmt.Errorf("handoffs of %s: %w", slug, err)
	}
	var paths []string
	for i := range list {
		if list[i].RecordedAt != nil && len(paths) < most {
			paths = append(paths, list[i].FilePath)
		}
	}
	return paths, nil
}

// newSuccessor prepares the row of the agent that follows a.
func (d *Daemon) newSuccessor(ctx context.Context, a *Agent, now time.Time) (*Agent, error) {
	id, err := d.Store.NextID(ctx, AgentIDs)
	if err != nil {
		return nil, err
	}
	return &Agent{
		ID: id, Name: a.Name, Persona: a.Persona, Runtime: a.Runtime, Host: d.Host, State: Starting, StateAt: now, Cwd: a.Cwd,
		Generation: a.Generation + 1, PreviousAgentID: &a.ID, CreatedAt: now, Managed: true,
		TmuxSession: tmuxSession(a.Name, id), Options: a.Options, PipelineID: a.PipelineID, StepID: a.StepID,
		PaneColumns: a.PaneColumns, PaneRows: a.PaneRows,
	}, nil
}

// tmuxSession is the name that a person sees in `tmux ls`: unique by its id, and of characters
// that mean nothing to tmux.
func tmuxSession(name string, id int64) string {
	return plainName(name, 60) + "-" + strconv.FormatInt(id, 10)
}

func (a *Agent) setPane(p *tmux.PaneInfo) {
	pane := p.Pane
	a.Pane, a.PaneSocket, a.PaneServerPID, a.PaneServerStart = &pane, p.Socket, p.ServerPID, p.ServerStart
}

// setSession notes the runtime's session, which may change while the agent lives.
func (a *Agent) setSession(p hooks.Payload) {
	session := p.SessionID
	a.SessionID = &session
	if p.TranscriptPath != "" {
		path := p.TranscriptPath
		a.TranscriptPath = &path
	}
}

func optionalID(id *int64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatInt(*id, 10)
}

// launchHash is what is kept of a launch secret.
func launchHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
