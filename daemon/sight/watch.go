package sight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/tmux"
)

// Settle is how long the runtime's registry must say the same before it overrules the hooks. A hook comes within 60 ms of
// the event that it reports (measured with Claude Code 2.1.329); the runtime rewrites the registry a little later.
const Settle = time.Second

// takeUp is how long the registry must say that no turn runs before that is believed of a session that a person has just
// moved into the background. Its copy takes up the interrupted turn, and is idle until then: 3 s with two fifths of a core
// (measured with Claude Code 2.1.330).
const takeUp = 30 * time.Second

// sighting is what the runtime's registry last said about an agent.
type sighting struct {
	Status runtimes.Status
	Since  time.Time // the registry has said the same in every look since then
	Known  bool      // the registry has an entry
	Parked string    // the job in the background in which the session goes on; "": it is in the agent's process
	Behind bool      // the agent's process is such a job
	Copied bool      // and its session is a copy that is not the agent's yet: see followTranscript
	dir    string    // the directory in which the agent's session works; "": it does not say
}

// Busy reports whether the registry says that a turn runs, or that a dialog is open.
func (s sighting) Busy() bool {
	return s.Status == runtimes.StatusBusy || s.Status == runtimes.StatusWaiting
}

// Settled reports whether the registry has said for [ForkSettle] that no turn runs and no dialog is open, or has no
// entry.
func (s sighting) Settled() bool {
	return !s.Known || !s.Busy() && time.Since(s.Since) >= ForkSettle
}

// Sighted returns what the last look at an agent's registry entry saw.
func (d *Sight) Sighted(agentID int64) sighting {
	return d.memories.Of(agentID).sighting
}

// QuietFor reports whether the registry has said for at least the time long that the agent is idle.
func (d *Sight) QuietFor(agentID int64, long time.Duration) bool {
	s := d.Sighted(agentID)
	return s.Status == "idle" && time.Since(s.Since) >= long
}

// Look reads the registry entry of an agent, and remembers what it says. Esc, open dialogs and retries show there, and no
// hook reports them.
func (d *Sight) Look(a *daemon.Agent) sighting {
	var s sighting
	if reg, ok := EntryOf(d, a); ok && (reg.PID == 0 || reg.PID == a.PID) {
		s = sighting{Status: reg.Status, Since: time.Now(), Known: true, Parked: reg.ParkedJob, Behind: reg.Kind == runtimes.KindBackground}
		s.Copied = s.Behind && a.SessionID != nil && reg.SessionID != *a.SessionID
		if a.SessionID != nil && reg.SessionID == *a.SessionID {
			s.dir = reg.Cwd
		}
	}
	d.memories.Change(a.ID, func(m *sightMemory) {
		if m.held > 0 && s.Status == runtimes.StatusBusy {
			s.Status = "idle" // busy with the hook of /handoff, which begins no turn
		}
		if !s.Known {
			s.Behind = m.sighting.Behind // a job's process that has ended was one all the same
		}
		if was := m.sighting; was.Known == s.Known && was.Status == s.Status && was.Parked == s.Parked && was.Behind == s.Behind && was.Copied == s.Copied && was.dir == s.dir {
			s = m.sighting
		}
		m.sighting = s
	})
	return s
}

// EntryOf reads the entry of an agent in its runtime's registry. ok is false if the runtime has none, or it cannot be read now.
func EntryOf(d *Sight, a *daemon.Agent) (reg runtimes.Registry, ok bool) {
	dir, rt := d.ConfigDir(a), d.RuntimeOf(a)
	switch {
	case dir == "" || a.PID == 0 || rt.Registry == nil:
		return reg, false
	case a.Sandbox:
		return EntryInside(d, a)
	}
	return ReadEntry(d, rt.Registry(dir, a.PID))
}

// ReadEntry reads an entry of a runtime's registry. ok is false if it cannot be read now.
func ReadEntry(d *Sight, path string) (reg runtimes.Registry, ok bool) {
	b, err := d.Registry(path)
	if err != nil {
		return reg, false
	}
	reg, err = runtimes.ParseRegistry(b)
	return reg, err == nil
}

// Outdate restarts the time for which an agent's registry entry must say the same. A hook calls it, because the hook's
// report is newer than the entry.
func (d *Sight) Outdate(agentID int64) {
	d.memories.Change(agentID, func(m *sightMemory) {
		if m.sighting.Known {
			m.sighting.Since = time.Now()
		}
	})
}

// ConfigDir returns the directory in which the agent's runtime keeps its files; "": it is not known.
func (d *Sight) ConfigDir(a *daemon.Agent) string {
	if a.TranscriptPath != nil {
		if dir := runtimes.ConfigDirOfTranscript(*a.TranscriptPath); dir != "" {
			return dir
		}
	}
	environ, _ := claude.Runtime.AccountEnviron(d.Environ, a.Account, nil)
	return runtimes.ConfigDir(func(name string) string { return Variable(environ, name) })
}

// Getenv returns a variable of the environment that agents inherit.
func (d *Sight) Getenv(name string) string {
	return Variable(d.Environ, name)
}

// Reconcile corrects the state of a registered agent by its process and its registry entry, because no hook reports some
// changes. It reports whether it changed the agent.
func (d *Sight) Reconcile(a *daemon.Agent) (changed bool) {
	if a.RegisteredAt == nil {
		return false
	}
	switch {
	case a.PID != 0 && d.Processes.Standing(a.Process()).Stopped:
		changed = a.Be(daemon.Waiting, d.Now()) || a.WaitsFor != daemon.WaitsForFg
		a.Ask(daemon.WaitsForFg)
		return changed
	case a.WaitsFor == daemon.WaitsForFg:
		return a.Be(a.Rest(), d.Now()) // if a turn runs, a later look at the registry makes it Working
	}
	s := d.Look(a)
	if !s.Known {
		return false
	}
	age := time.Since(s.Since)
	steady := age >= Settle
	want := a.State
	switch s.Status {
	case "waiting":
		// The registry also says waiting while the permission hook answers, which is soon over, and until leaveLimit has answered.
		if steady && !asksAtLimit(a, s, d.TimeSpent(a.StateAt)) {
			want = daemon.Waiting
		}
	case "busy":
		if (a.State == daemon.Waiting || a.AtRest()) && steady {
			want = daemon.Working
		}
	case "idle":
		if s.Parked != "" || s.Copied {
			steady = age >= takeUp
		}
		if InTurn(a) && steady {
			want = a.Interrupt(d.Now())
		}
	}
	return a.Be(want, d.Now())
}

// Screen is what an agent's pane showed, as its runtime reads it, and which command the pane ran.
type Screen struct {
	runtimes.Screen
	Command string
	Text    string    // all of it
	At      time.Time // when the look began
}

// Sight returns what tmux must find unchanged when keys are pressed on this screen.
func (s *Screen) Sight() tmux.Sight { return tmux.Sight{Command: s.Command, Row: s.Row} }

// Composer returns the agent's screen if its composer takes a text now. nil: it does not; why says what the agent waits
// for, and again is the time until the next look.
func (d *Sight) Composer(ctx context.Context, a *daemon.Agent) (s *Screen, why daemon.Hold, again time.Duration) {
	f := PaneFacts{
		Answering: d.memories.Of(a.ID).held > 0, Status: d.Look(a).Status, InFront: d.InFront(a), Stashes: d.RuntimeOf(a).Can.StashKey != "",
	}
	kind := f.WhyNot()
	if kind == daemon.HoldUnreadable { // nothing else is in the way: a look at the screen costs a process
		if now, err := d.ReadScreen(ctx, a); err == nil {
			s, f.Screen = now, &now.Screen
		}
		kind = f.WhyNot()
	}
	switch kind {
	case "":
		return s, daemon.Hold{}, 0
	case daemon.HoldTurn, daemon.HoldNotReady:
		return nil, kind.Hold(), 25 * time.Millisecond
	}
	return nil, kind.Hold(), time.Second
}

// BlocksExit returns why the exit command is not typed on a screen of the agent; "": nothing blocks it.
func BlocksExit(d *Sight, a *daemon.Agent, s *Screen) daemon.HoldKind {
	f := PaneFacts{InFront: d.InFront(a), Screen: &s.Screen, Stashes: d.RuntimeOf(a).Can.StashKey != "", Exits: true}
	return f.WhyNot()
}

// Rarer returns how long to wait before the next look at something for which the daemon has waited so long. The longer the wait, the rarer
// the looks: from one in each first down to one a second.
func Rarer(first, waited time.Duration) time.Duration { return max(first, min(waited/4, time.Second)) }

// NotReady returns how to wait for a composer that is not ready: after how long to look again, and what holds the agent up. HoldTurn is
// left out, because the agent's state will say it, and HoldNotReady for the first [engine.NoteAfter].
func (d *Sight) NotReady(agentID int64, again time.Duration, why daemon.Hold) (time.Duration, daemon.Hold) {
	var age time.Duration
	d.memories.Change(agentID, func(m *sightMemory) {
		if m.unreadySince.IsZero() {
			m.unreadySince = time.Now()
		}
		age = time.Since(m.unreadySince)
	})
	if why.Kind == daemon.HoldTurn || why.Kind == daemon.HoldNotReady && age < engine.NoteAfter {
		why = daemon.Hold{}
	}
	return Rarer(again, age), why
}

// IsReady notes that the composer is ready, so that NotReady counts anew.
func (d *Sight) IsReady(agentID int64) {
	d.memories.Change(agentID, func(m *sightMemory) { m.unreadySince = time.Time{} })
}

// ReadScreen reads the agent's pane, as its runtime reads a screen.
func (d *Sight) ReadScreen(ctx context.Context, a *daemon.Agent) (*Screen, error) {
	at := time.Now()
	term, err := d.TerminalOf(a)
	if err != nil {
		return &Screen{}, err
	}
	rt, err := d.Settings().RuntimeNamed(a.Runtime)
	if err != nil {
		return &Screen{}, err
	}
	view, err := term.Look(ctx, a.Ref())
	if err != nil {
		return &Screen{}, fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	return &Screen{Screen: rt.ReadScreen(runtimes.View{Text: view.Screen, Title: view.Title}), Command: view.Command, Text: view.Screen, At: at}, nil
}

// Capture returns the text that an agent's pane shows; with ansi, with its colours.
func (d *Sight) Capture(ctx context.Context, a *daemon.Agent, ansi bool) (string, error) {
	term, err := d.TerminalOf(a)
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

// Shows returns what the agent's pane shows; the zero value: nothing, or the pane can't be read.
func (d *Sight) Shows(ctx context.Context, a *daemon.Agent) daemon.Shown {
	if !a.HasPane() {
		return daemon.Shown{}
	}
	text, err := d.Capture(ctx, a, false)
	if err != nil {
		return daemon.Shown{}
	}
	switch s := d.RuntimeOf(a).ReadScreen(runtimes.View{Text: text}); {
	case s.Dialog != "":
		return daemon.Shown{Dialog: s.Dialog}
	case s.Composer:
		return daemon.Shown{Composer: true}
	}
	return daemon.Shown{Line: LastLine(text)}
}

// lastShown returns what an ended agent wrote last. It waits until tmux marks the pane as dead, because the process may be gone
// before tmux has read all of its output. It also reads the history: tmux scrolls a dead pane up by one line to add its own, so a
// short message is no longer on the screen (seen with 3.3a).
func (d *Sight) lastShown(ctx context.Context, a *daemon.Agent) string {
	const history = 200 // lines; more than a screen
	term, err := d.TerminalOf(a)
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

// Watch wakes an agent's lane when its process ends. There is one goroutine for each process; it ends with ctx.
func (d *Sight) Watch(ctx context.Context, a *daemon.Agent) {
	p := a.Process()
	if p.PID == 0 {
		return
	}
	id, watched := a.ID, false
	d.memories.Change(id, func(m *sightMemory) { watched, m.watched = m.watched == p, p })
	if watched {
		return
	}
	d.Lanes.Spawn(func() {
		if err := d.Processes.Wait(ctx, p); err != nil {
			if ctx.Err() == nil {
				d.Log.Warn("process not watched; the sweep looks instead", "agent_id", id, "pid", p.PID, "error", err)
			}
			return
		}
		d.Wake(id)
	})
}

// Variable returns the value of a variable in an environment, of which the last setting counts.
func Variable(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// unread is a series of looks at a screen that have failed.
type unread struct{ since, last time.Time }

// UnreadFor notes whether the last look at an agent's screen has failed, and returns for how long the looks have failed.
func UnreadFor(d *Sight, a *daemon.Agent, err error) (had time.Duration) {
	d.memories.Change(a.ID, func(m *sightMemory) {
		now := time.Now()
		switch {
		case err == nil:
			m.unread = unread{}
			return
		case now.Sub(m.unread.last) > Unreadable: // nobody has looked for a while
			m.unread.since = now
		}
		m.unread.last = now
		had = now.Sub(m.unread.since)
	})
	return had
}

// Unreadable is how long a screen that cannot be read is taken for one that shows a turn: one look that fails tells nothing.
const Unreadable = 10 * time.Second

// UnreadySince returns when the daemon began to wait for the composer of an agent; the zero time: it does not wait.
func UnreadySince(d *Sight, agentID int64) time.Time { return d.memories.Of(agentID).unreadySince }

// NoteHeld counts the held hooks of a person's /handoff: n more of them wait for their answers.
func NoteHeld(d *Sight, agentID int64, n int) {
	d.memories.Change(agentID, func(m *sightMemory) { m.held += n })
}

// DropWatches forgets the processes that goroutines wait for, because these have ended with the last run.
func DropWatches(d *Sight) {
	d.memories.ChangeAll(func(_ int64, m *sightMemory) { m.watched, m.followed = tmux.Process{}, tmux.Process{} })
}

// Empty reports whether the screen shows an empty composer, and neither a turn nor a dialog.
func (s *Screen) Empty() bool { return s.Composer && !s.Busy && s.Dialog == "" && s.Draft == "" }

// ForkSettle is how long the runtime's registry must have said idle before the daemon forks the session. The runtime writes
// the last answer into the session some 60 ms after the Stop (measured with Claude Code 2.1.329), and later on a busy
// machine. The runtime also goes on with a queued prompt without a hook.
const ForkSettle = 300 * time.Millisecond
