package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// settle is how long the runtime's registry must say the same before it overrules the hooks. A
// hook comes within 60 ms of what it reports (measured with Claude Code 2.1.329); the registry is
// rewritten a little later.
const settle = time.Second

const (
	// grace is what every wait has left at least after a daemon has started.
	grace = 30 * time.Second
	// noteAfter is how long a composer may not be ready before that is worth a word.
	noteAfter = 3 * time.Second
)

// sighting is what the runtime's registry said of an agent, and since when without a break.
type sighting struct {
	status runtimes.Status
	since  time.Time
	known  bool
}

// busy reports whether a turn runs, or a dialog is open in one.
func (s sighting) busy() bool {
	return s.status == runtimes.StatusBusy || s.status == runtimes.StatusWaiting
}

// settled reports whether no turn has run for [forkSettle], as far as that is known.
func (s sighting) settled() bool {
	return !s.known || !s.busy() && time.Since(s.since) >= forkSettle
}

// sighted returns the last look at an agent's registry file.
func (d *Daemon) sighted(agentID int64) sighting {
	return d.memories.of(agentID).sighting
}

// quietFor reports whether the runtime's registry has said for so long that no turn is running.
func (d *Daemon) quietFor(agentID int64, long time.Duration) bool {
	s := d.sighted(agentID)
	return s.status == "idle" && time.Since(s.since) >= long
}

// look reads the runtime's registry file of an agent. Hooks are silent about Esc, open dialogs
// and retries; this file is not.
func (d *Daemon) look(a *Agent) sighting {
	var s sighting
	if dir := d.configDir(a); dir != "" && a.PID != 0 {
		if b, err := d.Registry(runtimes.RegistryPath(dir, a.PID)); err == nil {
			if reg, err := runtimes.ParseRegistry(b); err == nil && (reg.PID == 0 || reg.PID == a.PID) {
				s = sighting{status: reg.Status, since: time.Now(), known: true}
			}
		}
	}
	d.memories.change(a.ID, func(m *agentMemory) {
		if m.sighting.known == s.known && m.sighting.status == s.status {
			s = m.sighting
		}
		m.sighting = s
	})
	return s
}

// readEntry reads an entry of the registry. Each sweep reads that of each agent: a file that is opened as one that is
// not to be waited for spares package os the attempt, which takes as many system calls as the rest.
func readEntry(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// outdate has the time begin anew for which the registry of an agent must say the same: a hook has
// just told something newer than what stands there.
func (d *Daemon) outdate(agentID int64) {
	d.memories.change(agentID, func(m *agentMemory) {
		if m.sighting.known {
			m.sighting.since = time.Now()
		}
	})
}

// configDir is where the agent's runtime keeps its files.
func (d *Daemon) configDir(a *Agent) string {
	if a.TranscriptPath != nil {
		if dir := runtimes.ConfigDirOfTranscript(*a.TranscriptPath); dir != "" {
			return dir
		}
	}
	return runtimes.ConfigDir(d.getenv)
}

// getenv looks a variable up in the environment that agents inherit.
func (d *Daemon) getenv(name string) string {
	for i := len(d.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(d.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// reconcile corrects an agent's state by the registry where the hooks have nothing to say.
func (d *Daemon) reconcile(a *Agent) (changed bool) {
	if a.RegisteredAt == nil {
		return false
	}
	switch {
	case a.PID != 0 && d.Processes.Standing(a.Process()).Stopped:
		changed = a.be(Waiting, d.now()) || a.WaitsFor != waitsForFg
		a.WaitsFor = waitsForFg
		return changed
	case a.WaitsFor == waitsForFg:
		return a.be(Idle, d.now()) // if a turn runs, the registry says so
	}
	s := d.look(a)
	if !s.known {
		return false
	}
	steady := time.Since(s.since) >= settle
	want := a.State
	switch s.status {
	case "waiting":
		if steady { // it says so even while a hook of ours answers the question
			want = Waiting
		}
	case "busy":
		if (a.State == Waiting || a.State == Idle) && steady {
			want = Working
		}
	case "idle":
		if (a.State == Working || a.State == Waiting) && steady {
			want = Idle
		}
	}
	return a.be(want, d.now())
}

// screen is what an agent's pane showed, as its runtime means it, and ran.
type screen struct {
	runtimes.Screen
	command string
	at      time.Time // begin of the look
}

// sight is what must not have changed when something is typed to what the screen showed.
func (s *screen) sight() tmux.Sight { return tmux.Sight{Command: s.command, Row: s.Row} }

// composer returns the agent's screen when its composer takes a text now. Nil: not now; why says
// what it waits for, and again when to look next.
func (d *Daemon) composer(ctx context.Context, a *Agent) (s *screen, why string, again time.Duration) {
	const soon = 25 * time.Millisecond
	if s := d.look(a); s.known {
		switch s.status {
		case "busy":
			return nil, "", soon
		case "waiting":
			return nil, noteDialog, time.Second
		}
	}
	if !d.inFront(a) {
		return nil, noteBehind, time.Second
	}
	now, err := d.readScreen(ctx, a)
	if err != nil {
		return nil, "the agent's screen cannot be read", time.Second
	}
	switch _, err := now.CanType(); {
	case now.Dialog != "":
		return nil, noteDialog, time.Second
	case !now.Composer || now.Busy:
		return nil, noteNotReady, soon
	case err != nil:
		return nil, err.Error(), time.Second
	}
	return now, "", 0
}

// notReady tells how to wait for a composer that is not ready, by how long that has lasted: at
// first not a word and often, later with a note and once a second.
func (d *Daemon) notReady(agentID int64, again time.Duration, why string) (time.Duration, string) {
	var age time.Duration
	d.memories.change(agentID, func(m *agentMemory) {
		if m.unreadySince.IsZero() {
			m.unreadySince = time.Now()
		}
		age = time.Since(m.unreadySince)
	})
	if why == noteNotReady && age < noteAfter {
		why = ""
	}
	return max(again, min(age/4, time.Second)), why
}

// isReady ends what notReady counts.
func (d *Daemon) isReady(agentID int64) {
	d.memories.change(agentID, func(m *agentMemory) { m.unreadySince = time.Time{} })
}

// readScreen reads what the agent's pane shows as its runtime would mean it.
func (d *Daemon) readScreen(ctx context.Context, a *Agent) (*screen, error) {
	at := time.Now()
	term, err := d.terminalOf(a)
	if err != nil {
		return &screen{}, err
	}
	rt, err := runtimes.For(a.Runtime)
	if err != nil {
		return &screen{}, err
	}
	view, err := term.Look(ctx, a.Ref())
	if err != nil {
		return &screen{}, fmt.Errorf("agent %d: screen: %w", a.ID, err)
	}
	return &screen{Screen: rt.ReadScreen(view.Screen), command: view.Command, at: at}, nil
}

func (d *Daemon) capture(ctx context.Context, a *Agent, ansi bool) (string, error) {
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

// shows describes what an agent's pane shows, for the sentence of a failure; "" if nothing.
func (d *Daemon) shows(ctx context.Context, a *Agent) string {
	if !a.HasPane() {
		return ""
	}
	text, err := d.capture(ctx, a, false)
	if err != nil {
		return ""
	}
	if rt, err := runtimes.For(a.Runtime); err == nil {
		switch s := rt.ReadScreen(text); {
		case s.Dialog != "":
			return "; a dialog is open: " + words.Quote(s.Dialog)
		case s.Composer:
			return paneShows + "an open composer"
		}
	}
	if line := lastLine(text); line != "" {
		return paneShows + words.Quote(line)
	}
	return ""
}

// paneShows stands between why an agent has ended, or does nothing, and what its pane shows.
const paneShows = "; its pane shows "

// lastWords is what an agent that has ended wrote last. Its process may be gone before tmux has read
// all of it; and for its own line tmux scrolls a dead pane up by one, which takes the only line of a
// short message into the history (seen with 3.3a).
func (d *Daemon) lastWords(ctx context.Context, a *Agent) string {
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
		if !ticked(ctx, tick.C) {
			return ""
		}
	}
	shown, err := term.Capture(ctx, history, false, a.Ref())
	if line := lastLine(shown[a.Ref().Pane]); err == nil && line != "" {
		return paneShows + words.Quote(line)
	}
	return ""
}

// inTranscript reports whether the agent's transcript shows that it was given a text: by its nonce,
// or, where it has none, as a whole prompt since it was typed.
func (d *Daemon) inTranscript(a *Agent, dl *Delivery) bool {
	jsonl := transcriptTail(a)
	switch {
	case dl.Nonce != "":
		return runtimes.TranscriptContains(jsonl, dl.Nonce)
	case dl.TypedAt != nil:
		return runtimes.TranscriptHasPrompt(jsonl, dl.Text, d.earliestShown(*dl.TypedAt))
	}
	return false
}

// transcriptEnd is how much of a transcript's end is read, in bytes.
const transcriptEnd = 1 << 20

// transcriptTail reads the end of an agent's transcript; what matters is among the newest.
func transcriptTail(a *Agent) []byte {
	if a.TranscriptPath == nil {
		return nil
	}
	f, err := os.OpenFile(*a.TranscriptPath, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would keep us waiting
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return nil
	}
	size := min(fi.Size(), transcriptEnd)
	b := make([]byte, size)
	n, _ := f.ReadAt(b, fi.Size()-size) // what was read counts
	return b[:n]
}

// watch wakes an agent's lane when its process ends. One goroutine per live process; they end
// with ctx.
func (d *Daemon) watch(ctx context.Context, a *Agent) {
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
