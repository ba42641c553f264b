package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// Settle is how long the runtime's registry must say the same before it overrules the hooks. A hook comes within 60 ms of
// the event that it reports (measured with Claude Code 2.1.329); the runtime rewrites the registry a little later.
const Settle = time.Second

// takeUp is how long the registry must say that no turn runs before that is believed of a session that a person has just
// moved into the background. Its copy takes up the interrupted turn, and is idle until then: 3 s with two fifths of a core
// (measured with Claude Code 2.1.330).
const takeUp = 30 * time.Second

const (
	// grace is how much time every deadline has left at least when a daemon starts.
	grace = 30 * time.Second
	// NoteAfter is how long a wait lasts before a note says what the daemon waits for.
	NoteAfter = 3 * time.Second
)

// sighting is what the runtime's registry last said about an agent.
type sighting struct {
	status runtimes.Status
	since  time.Time // the registry has said the same in every look since then
	known  bool      // the registry has an entry
	parked string    // the job in the background in which the session goes on; "": it is in the agent's process
	behind bool      // the agent's process is such a job
	copied bool      // and its session is a copy that is not the agent's yet: see followTranscript
	dir    string    // the directory in which the agent's session works; "": it does not say
}

// busy reports whether the registry says that a turn runs, or that a dialog is open.
func (s sighting) busy() bool {
	return s.status == runtimes.StatusBusy || s.status == runtimes.StatusWaiting
}

// settled reports whether the registry has said for [ForkSettle] that no turn runs and no dialog is open, or has no
// entry.
func (s sighting) settled() bool {
	return !s.known || !s.busy() && time.Since(s.since) >= ForkSettle
}

// sighted returns what the last look at an agent's registry entry saw.
func (d *Daemon) sighted(agentID int64) sighting {
	return d.memories.of(agentID).sighting
}

// quietFor reports whether the registry has said for at least the time long that the agent is idle.
func (d *Daemon) quietFor(agentID int64, long time.Duration) bool {
	s := d.sighted(agentID)
	return s.status == "idle" && time.Since(s.since) >= long
}

// look reads the registry entry of an agent, and remembers what it says. Esc, open dialogs and retries show there, and no
// hook reports them.
func (d *Daemon) look(a *daemon.Agent) sighting {
	var s sighting
	if reg, ok := entryOf(d, a); ok && (reg.PID == 0 || reg.PID == a.PID) {
		s = sighting{status: reg.Status, since: time.Now(), known: true, parked: reg.ParkedJob, behind: reg.Kind == runtimes.KindBackground}
		s.copied = s.behind && a.SessionID != nil && reg.SessionID != *a.SessionID
		if a.SessionID != nil && reg.SessionID == *a.SessionID {
			s.dir = reg.Cwd
		}
	}
	d.memories.change(a.ID, func(m *agentMemory) {
		if m.held > 0 && s.status == runtimes.StatusBusy {
			s.status = "idle" // busy with the hook of /handoff, which begins no turn
		}
		if !s.known {
			s.behind = m.sighting.behind // a job's process that has ended was one all the same
		}
		if was := m.sighting; was.known == s.known && was.status == s.status && was.parked == s.parked && was.behind == s.behind && was.copied == s.copied && was.dir == s.dir {
			s = m.sighting
		}
		m.sighting = s
	})
	return s
}

// entryOf reads the entry of an agent in its runtime's registry. ok is false if the runtime has none, or it cannot be read now.
func entryOf(d *Daemon, a *daemon.Agent) (reg runtimes.Registry, ok bool) {
	dir, rt := d.configDir(a), d.runtimeOf(a)
	if dir == "" || a.PID == 0 || rt.Registry == nil {
		return reg, false
	}
	b, err := d.Registry(rt.Registry(dir, a.PID))
	if err != nil {
		return reg, false
	}
	reg, err = runtimes.ParseRegistry(b)
	return reg, err == nil
}

// outdate restarts the time for which an agent's registry entry must say the same. A hook calls it, because the hook's
// report is newer than the entry.
func (d *Daemon) outdate(agentID int64) {
	d.memories.change(agentID, func(m *agentMemory) {
		if m.sighting.known {
			m.sighting.since = time.Now()
		}
	})
}

// configDir returns the directory in which the agent's runtime keeps its files; "": it is not known.
func (d *Daemon) configDir(a *daemon.Agent) string {
	if a.TranscriptPath != nil {
		if dir := runtimes.ConfigDirOfTranscript(*a.TranscriptPath); dir != "" {
			return dir
		}
	}
	environ, _ := runtimes.Claude().AccountEnviron(d.Environ, a.Account, nil)
	return runtimes.ConfigDir(func(name string) string { return variable(environ, name) })
}

// getenv returns a variable of the environment that agents inherit.
func (d *Daemon) getenv(name string) string {
	return variable(d.Environ, name)
}

// reconcile corrects the state of a registered agent by its process and its registry entry, because no hook reports some
// changes. It reports whether it changed the agent.
func (d *Daemon) reconcile(a *daemon.Agent) (changed bool) {
	if a.RegisteredAt == nil {
		return false
	}
	switch {
	case a.PID != 0 && d.Processes.Standing(a.Process()).Stopped:
		changed = a.Be(daemon.Waiting, d.now()) || a.WaitsFor != daemon.WaitsForFg
		a.Ask(daemon.WaitsForFg)
		return changed
	case a.WaitsFor == daemon.WaitsForFg:
		return a.Be(a.Rest(), d.now()) // if a turn runs, a later look at the registry makes it Working
	}
	s := d.look(a)
	if !s.known {
		return false
	}
	age := time.Since(s.since)
	steady := age >= Settle
	want := a.State
	switch s.status {
	case "waiting":
		// The registry also says waiting while the permission hook answers, which is soon over, and until leaveLimit has answered.
		if steady && !asksAtLimit(a, s, d.timeSpent(a.StateAt)) {
			want = daemon.Waiting
		}
	case "busy":
		if (a.State == daemon.Waiting || a.AtRest()) && steady {
			want = daemon.Working
		}
	case "idle":
		if s.parked != "" || s.copied {
			steady = age >= takeUp
		}
		if inTurn(a) && steady {
			want = a.Interrupt(d.now())
		}
	}
	return a.Be(want, d.now())
}

// screen is what an agent's pane showed, as its runtime reads it, and which command the pane ran.
type screen struct {
	runtimes.Screen
	command string
	text    string    // all of it
	at      time.Time // when the look began
}

// sight returns what tmux must find unchanged when keys are pressed on this screen.
func (s *screen) sight() tmux.Sight { return tmux.Sight{Command: s.command, Row: s.Row} }

// composer returns the agent's screen if its composer takes a text now. nil: it does not; why says what the agent waits
// for, and again is the time until the next look.
func (d *Daemon) composer(ctx context.Context, a *daemon.Agent) (s *screen, why daemon.Hold, again time.Duration) {
	const soon = 25 * time.Millisecond
	if d.memories.of(a.ID).held > 0 {
		return nil, daemon.Hold{}, soon // a text would be queued behind the hook of /handoff
	}
	if s := d.look(a); s.known {
		switch s.status {
		case "busy":
			return nil, daemon.Hold{}, soon
		case "waiting":
			return nil, daemon.HoldDialog.Hold(), time.Second
		}
	}
	if !d.inFront(a) {
		return nil, daemon.HoldBehind.Hold(), time.Second
	}
	now, err := d.readScreen(ctx, a)
	if err != nil {
		return nil, daemon.HoldUnreadable.Hold(), time.Second
	}
	switch _, err := now.CanType(d.runtimeOf(a).Can.StashKey != ""); {
	case now.Dialog != "":
		return nil, daemon.HoldDialog.Hold(), time.Second
	case !now.Composer || now.Busy:
		return nil, daemon.HoldNotReady.Hold(), soon
	case errors.Is(err, runtimes.ErrDraft):
		return nil, daemon.HoldDraft.Hold(), time.Second
	case err != nil:
		return nil, daemon.HoldDrafts.Hold(), time.Second
	}
	return now, daemon.Hold{}, 0
}

// rarer returns how long to wait before the next look at something for which the daemon has waited so long. The longer the wait, the rarer
// the looks: from one in each first down to one a second.
func rarer(first, waited time.Duration) time.Duration { return max(first, min(waited/4, time.Second)) }

// notReady returns how to wait for a composer that is not ready: after how long to look again, and what holds the agent up. HoldNotReady is
// left out for the first [NoteAfter].
func (d *Daemon) notReady(agentID int64, again time.Duration, why daemon.Hold) (time.Duration, daemon.Hold) {
	var age time.Duration
	d.memories.change(agentID, func(m *agentMemory) {
		if m.unreadySince.IsZero() {
			m.unreadySince = time.Now()
		}
		age = time.Since(m.unreadySince)
	})
	if why.Kind == daemon.HoldNotReady && age < NoteAfter {
		why = daemon.Hold{}
	}
	return rarer(again, age), why
}

// isReady notes that the composer is ready, so that notReady counts anew.
func (d *Daemon) isReady(agentID int64) {
	d.memories.change(agentID, func(m *agentMemory) { m.unreadySince = time.Time{} })
}

// readScreen reads the agent's pane, as its runtime reads a screen.
func (d *Daemon) readScreen(ctx context.Context, a *daemon.Agent) (*screen, error) {
	at := time.Now()
	term, err := d.terminalOf(a)
	if err != nil {
		return &screen{}, err
	}
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	if err != nil {
		return &screen{}, err
	}
	view, err := term.Look(ctx, a.Ref())
	if err != nil {
		return &screen{}, fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	return &screen{Screen: rt.ReadScreen(runtimes.View{Text: view.Screen, Title: view.Title}), command: view.Command, text: view.Screen, at: at}, nil
}

// capture returns the text that an agent's pane shows; with ansi, with its colours.
func (d *Daemon) capture(ctx context.Context, a *daemon.Agent, ansi bool) (string, error) {
	term, err := d.terminalOf(a)
	if err != nil {
		return "", err
	}
	shown, err := term.Capture(ctx, 0, ansi, a.Ref())
	if err != nil {
		return "", fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	text, ok := shown[a.Ref().Pane]
	if !ok {
		return "", fmt.Errorf("agent %d: screen: %w", a.ID, tmux.ErrGone)
	}
	return text, nil
}

// shows returns what the agent's pane shows; the zero value: nothing, or the pane can't be read.
func (d *Daemon) shows(ctx context.Context, a *daemon.Agent) daemon.Shown {
	if !a.HasPane() {
		return daemon.Shown{}
	}
	text, err := d.capture(ctx, a, false)
	if err != nil {
		return daemon.Shown{}
	}
	switch s := d.runtimeOf(a).ReadScreen(runtimes.View{Text: text}); {
	case s.Dialog != "":
		return daemon.Shown{Dialog: s.Dialog}
	case s.Composer:
		return daemon.Shown{Composer: true}
	}
	return daemon.Shown{Line: lastLine(text)}
}

// lastShown returns what an ended agent wrote last. It waits until tmux marks the pane as dead, because the process may be gone
// before tmux has read all of its output. It also reads the history: tmux scrolls a dead pane up by one line to add its own, so a
// short message is no longer on the screen (seen with 3.3a).
func (d *Daemon) lastShown(ctx context.Context, a *daemon.Agent) string {
	const history = 200 // lines; more than a screen
	term, err := d.terminalOf(a)
	if err != nil || !a.Managed {
		return ""
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(500 * time.Millisecond); time.Now().Before(until); {
		if info, err := term.Inspect(ctx, a.Ref()); err != nil || info.Dead {
			break
		}
		if !lane.Ticked(ctx, tick.C) {
			return ""
		}
	}
	shown, err := term.Capture(ctx, history, false, a.Ref())
	if err != nil {
		return ""
	}
	return shown[a.Ref().Pane]
}

// lastWords returns the end of a sentence: the last line that an ended agent wrote. lost is true if the agent was to open a session
// again and its runtime did not find it; then the line is the one that says so.
func (d *Daemon) lastWords(ctx context.Context, a *daemon.Agent) (said string, lost bool) {
	shown := d.lastShown(ctx, a)
	line := lastLine(shown)
	if a.Resume != "" && a.RegisteredAt == nil {
		if says := runtimes.SaysNoConversation(shown); says != "" {
			line, lost = says, true
		}
	}
	if line == "" {
		return "", false
	}
	return daemon.PaneShows + words.Quote(line), lost
}

// inTranscript reports whether the agent's transcript has the text of a delivery: its nonce or, if it has none, the text as a
// whole prompt since the daemon typed it.
func (d *Daemon) inTranscript(a *daemon.Agent, dl *daemon.Delivery) bool {
	jsonl, rt := TranscriptTail(a), d.runtimeOf(a)
	switch {
	case dl.Nonce != "":
		return rt.TranscriptContains(jsonl, dl.Nonce)
	case dl.TypedAt != nil:
		return rt.TranscriptHasPrompt(jsonl, dl.Text, d.earliestShown(*dl.TypedAt))
	}
	return false
}

// TranscriptEnd is how many bytes TranscriptTail reads.
const TranscriptEnd = 1 << 20

// TranscriptTail returns the end of an agent's transcript; nil: it has none, or it can't be read.
func TranscriptTail(a *daemon.Agent) []byte {
	if a.TranscriptPath == nil {
		return nil
	}
	f, err := openTranscript(*a.TranscriptPath)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	size := min(fi.Size(), TranscriptEnd)
	b := make([]byte, size)
	n, _ := f.ReadAt(b, fi.Size()-size) // after an error, use the bytes that were read before it
	return b[:n]
}

// watch wakes an agent's lane when its process ends. There is one goroutine for each process; it ends with ctx.
func (d *Daemon) watch(ctx context.Context, a *daemon.Agent) {
	p := a.Process()
	if p.PID == 0 {
		return
	}
	id, watched := a.ID, false
	d.memories.change(id, func(m *agentMemory) { watched, m.watched = m.watched == p, p })
	if watched {
		return
	}
	d.lanes.Spawn(func() {
		if err := d.Processes.Wait(ctx, p); err != nil {
			if ctx.Err() == nil {
				d.Log.Warn("process not watched; the sweep looks instead", "agent_id", id, "pid", p.PID, "error", err)
			}
			return
		}
		d.Wake(id)
	})
}
