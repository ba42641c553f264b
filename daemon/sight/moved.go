package sight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
)

// Claude Code's agents view (the left arrow in an empty composer) moves the session out of the process in the pane: a copy
// of the session, with an id of its own, goes on as a job in a process of the CLI's own supervisor. The process in the pane
// shows the view, and later the job, and hands on what is typed. It may exit without the job (measured with Claude Code
// 2.1.329). Hooks come from the job's process. So the job's process becomes the agent's process and, once it has a
// transcript, the job's session the agent's session: hooks, the registry, the stop ladder and a resume are then about what does the work.

// MaybeMoved reports whether FollowSession may have something to do for an agent.
func (d *Sight) MaybeMoved(a *daemon.Agent) bool {
	s := d.Sighted(a.ID)
	return s.Parked != "" || s.Behind || s.strayed(a)
}

// FollowSession makes the process of a job in the background the agent's process, when the registry says that the agent's
// session has moved there, and tells the operator. When the pane of such an agent is closed, the agent goes on without one,
// and the operator is told again.
func (d *Sight) FollowSession(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	switch s := d.Look(a); { // the last look may be from before a hook that has told of a move
	case s.Parked != "":
		return d.followJob(ctx, a, s.Parked)
	case s.Behind:
		if moved, err := d.followTranscript(ctx, a); moved || err != nil || !a.HasPane() {
			return moved, 0, err
		}
		return d.losePane(ctx, a)
	case s.strayed(a):
		return d.followDir(ctx, a, s.dir)
	}
	return false, 0, nil
}

// strayed reports whether the registry has said for a while that the agent's session works elsewhere than the row says. No hook
// tells of a person's /cd before the next prompt. A session that ends goes back to where it began, so an agent that is being
// ended stays where it was.
func (s sighting) strayed(a *daemon.Agent) bool {
	return s.Known && filepath.IsAbs(s.dir) && filepath.Clean(s.dir) != a.Cwd && a.AtRest() && a.StopAskedAt == nil && time.Since(s.Since) >= Settle
}

// followDir notes that the agent's session has moved, once its transcript shows the same.
func (d *Sight) followDir(ctx context.Context, a *daemon.Agent, dir string) (bool, time.Duration, error) {
	m := engine.Move{From: a.Cwd, To: filepath.Clean(dir)}
	if a.TranscriptPath == nil || !LeadsElsewhere(m) {
		return false, 0, nil
	}
	path := d.RuntimeOf(a).TranscriptIn(m.To, *a.TranscriptPath)
	if !FileHasContent(path) {
		path = *a.TranscriptPath // the session was opened in another work tree of its repository
	}
	if !FileHasContent(path) {
		return false, 0, nil
	}
	a.SetSession(hooks.Payload{TranscriptPath: path})
	a.MoveTo(m.To)
	d.LookAgain(a.ID)
	e := d.Event(event.AgentMoved, &a.ID, nil, map[string]any{"from": m.From, "to": m.To})
	read := []daemon.UsageRead{a.UsageIn(path)}
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, UsageReads: read, Events: []*event.Event{e}})
}

func (d *Sight) followJob(ctx context.Context, a *daemon.Agent, job string) (bool, time.Duration, error) {
	reg, ok := d.entryOfJob(a, job)
	if !ok || reg.PID == a.PID {
		return false, 0, nil // its process is about to write its entry, or the last look was at the process in the pane
	}
	proc, err := d.Processes.Find(reg.PID)
	if err != nil {
		return false, time.Second, nil // it has just ended: the entry will be gone at the next look
	}
	a.SetProcess(proc)
	text := fmt.Sprintf("The session of agent %d (%s) moved to a process in the background, because the agents view was opened in its pane (←). "+
		"It goes on there, and texts wait while the view is open: press Esc in its pane to return to it, `understudy agent attach %[1]d`.", a.ID, a.Name)
	if !a.Managed { // in a person's pane a shell may read what is typed, as soon as the view is closed
		a.LeavePane(d.Now())
		text = d.withoutPane(a)
	}
	told := d.inBackground(a, text)
	return true, 0, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, Events: []*event.Event{told}})
}

// followTranscript makes the job's session the agent's. Until its first turn the copy has no transcript and cannot be resumed
// (measured with 2.1.330), so the agent keeps the session from which it was copied until then.
func (d *Sight) followTranscript(ctx context.Context, a *daemon.Agent) (moved bool, err error) {
	if a.TranscriptPath == nil || a.SessionID == nil {
		return false, nil
	}
	reg, ok := EntryOf(d, a) // not ok: its process is gone
	if !ok || reg.PID != a.PID || reg.SessionID == *a.SessionID {
		return false, nil
	}
	path := filepath.Join(filepath.Dir(*a.TranscriptPath), reg.SessionID+".jsonl")
	if !d.HasContent(ctx, path) {
		return false, nil
	}
	a.SetSession(hooks.Payload{SessionID: reg.SessionID, TranscriptPath: path})
	e := d.Event(event.AgentSessionChanged, &a.ID, nil, map[string]any{"session_id": reg.SessionID, "source": "background"})
	read := []daemon.UsageRead{a.UsageIn(path)}
	return true, d.Commit(ctx, &daemon.Change{Agents: []*daemon.Agent{a}, UsageReads: read, Events: []*event.Event{e}})
}

// AgentOfJob returns the id of the active agent whose session goes on in a process of the CLI's supervisor; 0: there is none,
// as far as the registry says. Until the daemon has followed the session, the process is not the agent's.
func (d *Sight) AgentOfJob(ctx context.Context, pid int, transcript string) int64 {
	dir := runtimes.ConfigDirOfTranscript(transcript)
	job, ok := d.entryAt(dir, pid)
	if !ok || job.Kind != runtimes.KindBackground || job.Job == "" {
		return 0
	}
	active, err := d.Roster.Agents(ctx)
	if err != nil {
		return 0
	}
	for i := range active {
		a := &active[i]
		if d.RuntimeOf(a).Registry == nil || d.ConfigDir(a) != dir {
			continue
		}
		if reg, ok := d.entryAt(dir, a.PID); ok && (reg.ParkedJob == job.Job || reg.Job == job.Job) {
			return a.ID
		}
	}
	return 0
}

// entryAt reads the entry of a process in Claude Code's registry.
func (d *Sight) entryAt(dir string, pid int) (runtimes.Registry, bool) {
	if dir == "" || pid == 0 {
		return runtimes.Registry{}, false
	}
	reg, ok := ReadEntry(d, runtimes.RegistryPath(dir, pid))
	return reg, ok && reg.PID == pid
}

// losePane takes the pane off an agent in the background if its process has exited or the pane is gone: nothing reaches the
// session through it any more.
func (d *Sight) losePane(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	term, err := d.TerminalOf(a)
	if err != nil {
		return false, time.Second, nil
	}
	info, err := term.Inspect(ctx, a.Ref())
	gone := errors.Is(err, tmux.ErrGone)
	if !gone && (err != nil || !info.Dead) {
		return false, 0, nil
	}
	if !gone {
		if err := term.Kill(ctx, a.Ref()); err != nil {
			return false, 0, fmt.Errorf("agent %d: closed pane: %w", a.ID, err)
		}
	}
	a.LeavePane(d.Now())
	change := daemon.Change{Agents: []*daemon.Agent{a}}
	if !daemon.BeingEnded(a) { // else it does not go on: the process in its pane may end a moment before the job's
		change.Events = []*event.Event{d.inBackground(a, d.withoutPane(a))}
	}
	return true, 0, d.Commit(ctx, &change)
}

// withoutPane says what to do about an agent whose session goes on without a pane.
func (d *Sight) withoutPane(a *daemon.Agent) string {
	return fmt.Sprintf("The session of agent %d (%s) goes on in the background (the agents view, ←), without a pane in which the daemon could type: "+
		"take it back into a pane with `understudy agent stop %[1]d` and then `understudy agent resume %[1]d`.", a.ID, a.Name)
}

// inBackground returns the alert about an agent in the background.
func (d *Sight) inBackground(a *daemon.Agent, message string) *event.Event {
	e := d.Event(event.AgentInBackground, &a.ID, nil, map[string]any{"agent_name": a.Name, "session_id": a.SessionID, "message": message})
	e.Alert = true
	return e
}

// entryOfJob looks in the registry for the session of a job.
func (d *Sight) entryOfJob(a *daemon.Agent, job string) (runtimes.Registry, bool) {
	rt, dir := d.RuntimeOf(a), d.ConfigDir(a)
	if rt.Registry == nil || dir == "" || a.Sandbox {
		return runtimes.Registry{}, false
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(rt.Registry(dir, a.PID)), "*.json"))
	if err != nil { // the directory's name has a bracket
		return runtimes.Registry{}, false
	}
	for _, path := range paths {
		if reg, ok := ReadEntry(d, path); ok && reg.Kind == runtimes.KindBackground && reg.Job == job && path == rt.Registry(dir, reg.PID) {
			return reg, true
		}
	}
	return runtimes.Registry{}, false
}

// maxEntry is more than a file of the registry has, in bytes. An agent may write there what it likes.
const maxEntry = 1 << 20

// readEntry reads a file of the registry. Each sweep reads one for each agent. O_NONBLOCK spares package os its attempt to
// make the file non-blocking, which takes as many system calls as the rest.
func readEntry(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxEntry))
}
