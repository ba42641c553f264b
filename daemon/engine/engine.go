package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sandbox"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// Typist types into panes and reads them. Its methods are safe for concurrent use.
type Typist interface {
	// Paste types text into a pane, after the keys opt.Before, in one step, so that no other input can come in between. If it
	// returns tmux.ErrGone, tmux.ErrDead or tmux.ErrChanged, it has typed nothing. If it returns tmux.ErrOnce, an earlier
	// call typed a text with the same opt.Once, and this call has typed nothing.
	Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error
	// Press presses keys in a pane if the pane still has the row and the program in seen. It returns the same errors as Paste.
	Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error
	// Type types text into a pane as a keyboard does, with the condition and the errors of Press.
	Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error
	// Look returns the screen of a pane and the program that runs in it.
	Look(ctx context.Context, ref tmux.Ref) (tmux.View, error)
	// Capture returns the screens of the panes, by pane id. It leaves out panes that are gone.
	Capture(ctx context.Context, lines int, ansi bool, refs ...tmux.Ref) (map[string]string, error)
}

// Starter starts programs in panes. Its methods are safe for concurrent use.
type Starter interface {
	Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error)
	// Respawn starts a program in a pane of our own server whose program has ended. Of several calls for one place only the
	// first takes it. After tmux.ErrGone or tmux.ErrChanged the call has started nothing.
	Respawn(ctx context.Context, at tmux.Place, spec tmux.Spec) (tmux.PaneInfo, error)
}

// Panes finds and ends panes. Its methods are safe for concurrent use.
type Panes interface {
	List(ctx context.Context) ([]tmux.PaneInfo, error)
	Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error)
	Kill(ctx context.Context, ref tmux.Ref) error
	// KillMarked is Kill, if the pane still has the mark.
	KillMarked(ctx context.Context, ref tmux.Ref, mark string) error
}

// Clients are the people who are attached to a tmux server.
type Clients interface {
	// ShowMessage shows a text to those who look at a pane, for two seconds. It types nothing. shown is how many they are.
	ShowMessage(ctx context.Context, ref tmux.Ref, text string) (shown int, err error)
	// SwitchClients moves the people who are attached to one session (from) to another session (to).
	SwitchClients(ctx context.Context, from, to string) error
	// ShowLines tells the people who look at panes of our own server who runs there, and those who are about to look at the
	// panes in always. It returns the lines that were noted.
	ShowLines(ctx context.Context, lines []tmux.Line, always ...tmux.Ref) (shown []tmux.Line, err error)
	// Say notes on a pane who goes on with the work that was done there. It types nothing, and a second call replaces the text.
	Say(ctx context.Context, ref tmux.Ref, by int64, text string) error
	// Unsay removes what was said with the same by; 0: whatever was said. It returns nil if the pane is gone.
	Unsay(ctx context.Context, ref tmux.Ref, by int64) error
}

// Terminal is one tmux server.
type Terminal interface {
	Typist
	Starter
	Panes
	Clients
}

// Settings are the operator's settings of the domain.
type Settings struct {
	Handoff     daemon.HandoffSettings
	Pipeline    daemon.PipelineSettings
	Limits      daemon.LimitSettings
	Notify      daemon.NotifySettings
	Permissions daemon.PermissionSettings
	Sandbox     sandbox.Settings
	NoKeys      bool // panes take no keys from browsers
	Log         daemon.LogSettings
	History     HistorySettings
	Resume      bool                // after a start, the daemon itself opens the sessions again of agents that died with their tmux server
	Runtimes    map[string][]string // the command of each runtime, as a list of arguments
	// Generic are the runtimes of Runtimes that we do not know, as [catalog.NewGeneric] made them. One with the name of a
	// runtime that we know takes the place of that.
	Generic map[string]*runtimes.Runtime
}

// Config holds the settings of a daemon, and the parts that it works with.
type Config struct {
	Host     string   // this machine's host id
	Settings Settings // those of the start; [Engine.Settings] returns the present ones
	// Reread reads the operator's settings again. It returns those that the daemon works with from now on, and which have
	// changed since the start or the last call that succeeded; nil: settings can't be read again.
	Reread    func() (Settings, []SettingChange, error)
	Store     daemon.Store
	Data      data.Dir
	Personas  *personas.Store
	Templates *personas.Templates
	// Terminal returns the tmux server at a socket: our own, or a person's.
	Terminal func(socket string) (Terminal, error)
	Notifier tell.Notifier
	// Targets are sent the notifications besides; PublicURL is the address of the dashboard for their links, or "".
	Targets   []tell.Route
	PublicURL string
	// Processes finds and signals the machine's processes; nil: the system's own way.
	Processes Processes
	// Registry reads an entry of a runtime's registry; nil: the daemon reads the file at path.
	Registry func(path string) ([]byte, error)
	// Clock returns the time of day; nil: the system's. It may step.
	Clock func() time.Time
	// Random is the source of secrets and of unique names; nil: crypto/rand. It must never end.
	Random io.Reader
	Log    *slog.Logger
	// Environment returns the environment with which a process was started; nil: the system's own way.
	Environment func(pid int) ([]string, error)
	Environ     []string // the environment that agents inherit, after catalog.StripEnv
	Program     string   // our own executable, which people and agents call; "": not known
	Binary      string   // our own executable, which launches agents and runs their hooks
	// Lookup returns why a runtime's command can't be run, in one sentence with the fix; nil, if it can.
	Lookup func(command []string) error
	// Version returns the version that a runtime's command prints; "", if it is not known.
	Version func(ctx context.Context, command []string) string
	// OneShot runs a command to its end. When ctx ends, OneShot at once ends the command and all processes that the command
	// has started, and returns the error of ctx. When the daemon dies, the command must end as well.
	OneShot func(ctx context.Context, job OneShot) (OneShotResult, error)
	// Control returns the server that a runtime runs for an agent; nil: there are no such runtimes.
	Control func(Link) (Control, error)
	// FreePort returns a port of loopback on which nothing listens; nil: the system's.
	FreePort func() (int, error)
	// Worktree asks git about a directory. It returns worktree.ErrNone for a directory outside a repository.
	Worktree func(ctx context.Context, q worktree.Query) (worktree.Tree, error)
	// Extract finds the fields of a handoff's document, or of a step's output; ok is false if it finds none. It has the time that
	// is left of assembly_timeout. After an error, the text under the headings is taken. nil: that is always taken.
	Extract func(ctx context.Context, document string) (fields daemon.Structured, ok bool, err error)
	Differ  worktree.Differ // finds out what changes in agents' directories; nil: nothing is known of them
	Keeper  worktree.Keeper // makes, merges and removes work trees; nil: none are made
	// Servers returns the processes of the servers that the daemon runs for itself, except tmux.
	Servers func() []int
}

// Wake has the lane of an agent look at its rows. It never blocks.
func (d *Engine) Wake(agentID int64) { d.Lanes.Wake(LaneOf(agentID)) }

// Sweep wakes all lanes of a daemon that have something to do. It never blocks.
func Sweep(d *Engine) { d.Lanes.Wake(SweepLane) }

// OwnTerminal returns our own tmux server.
func (d *Engine) OwnTerminal() (Terminal, error) { return d.Terminal(d.Data.TmuxSocket()) }

// TerminalOf returns the tmux server that holds an agent's pane. It types into the pane and ends it only while it is the
// agent's.
func (d *Engine) TerminalOf(a *daemon.Agent) (Terminal, error) {
	if !a.HasPane() {
		return nil, daemon.ErrAgentNoPane
	}
	term, err := d.Terminal(a.PaneSocket)
	if err == nil && a.Managed {
		term = ownPane{term, PaneMark(a.ID)}
	}
	return term, err
}

// NotFoundAs replaces a store's ErrNotFound by the given error.
func NotFoundAs(err error, sentence *daemon.Error) error {
	if errors.Is(err, daemon.ErrNotFound) {
		return sentence
	}
	return err
}

// PaneMark is the mark of an agent's pane.
func PaneMark(agentID int64) string { return strconv.FormatInt(agentID, 10) }

// ownPane is the tmux server of a managed agent's pane, of which a successor may take the place at any moment. What is meant for
// the agent does not reach the successor, even if tmux runs it late or a daemon that was killed has sent it: tmux compares the
// mark in the same pass. The pane of a successor is gone for the agent.
type ownPane struct {
	Terminal
	mark string
}

func (o ownPane) Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error {
	opt.If.Mark = o.mark
	return o.Terminal.Paste(ctx, ref, text, opt)
}

func (o ownPane) Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error {
	seen.Mark = o.mark
	return o.Terminal.Press(ctx, ref, seen, keys...)
}

func (o ownPane) Type(ctx context.Context, ref tmux.Ref, seen tmux.Sight, text string) error {
	seen.Mark = o.mark
	return o.Terminal.Type(ctx, ref, seen, text)
}

func (o ownPane) Kill(ctx context.Context, ref tmux.Ref) error {
	return o.Terminal.KillMarked(ctx, ref, o.mark)
}

func (o ownPane) Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error) {
	info, err := o.Terminal.Inspect(ctx, ref)
	if err == nil && info.Mark != o.mark {
		return tmux.PaneInfo{}, fmt.Errorf("pane %s: it is not that of agent %s: %w", ref, o.mark, tmux.ErrGone)
	}
	return info, err
}

// Engine is what all floors stand on: the rows, the lanes that work for them, time that counts, settings, and what is reported of it all.
// It knows no floor above it. Its methods are safe for concurrent use.
type Engine struct {
	Config
	callouts
	Lanes         *lane.Lanes
	Hub           *feed.Hub
	Spool         *hooks.Spool
	Roster        *Roster
	memories      []remembers // of the floors
	Counts        counts
	Duties        []Duty
	Parts         []Part // of the rooms
	NewestAtStart int64  // see LogStart; set before Run

	settings  atomic.Pointer[Settings] // nobody changes what it points to
	reloading sync.Mutex               // one reload at a time

	mu         sync.Mutex
	RunBegan   time.Time // when Run was called last
	RunsSince  time.Time // the same, by the monotonic clock
	Presence   presence.Presence
	Refused    map[string]bool  // the things that were already reported to the operator: see FirstTime
	laneErrors map[lane.Key]int // how many errors in a row a lane had
}

// callouts are what floors ask of one above them. Whoever is above fills them in before the daemon runs.
type callouts struct {
	// Report takes what was seen of an agent as if its process had sent it as a hook.
	Report func(ctx context.Context, a *daemon.Agent, r runtimes.Report) error
	// ReplayFor applies the spooled hooks before something is done that they may forbid, and reports whether they have changed an agent.
	ReplayFor func(ctx context.Context, a *daemon.Agent) (told bool, err error)
	// LookFor answers a question of a decision. proc is the process that the hook comes from.
	LookFor func(ctx context.Context, proc tmux.Process, q Question) Answer
	// CountNow counts what an agent's transcripts say of its usage that is new.
	CountNow func(ctx context.Context, a *daemon.Agent) error
	// Arriving reports whether a hook of an agent has arrived and is not applied yet.
	Arriving func(a *daemon.Agent) bool
	// HoldsText reports whether a text must wait although its agent could take it.
	HoldsText func(ctx context.Context, a *daemon.Agent, dl *daemon.Delivery) (bool, error)
}

// New makes an engine without its callouts.
func New(cfg Config) *Engine {
	if cfg.Processes == nil {
		cfg.Processes = system{}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Lookup == nil {
		cfg.Lookup = func([]string) error { return nil }
	}
	if cfg.Version == nil {
		cfg.Version = func(context.Context, []string) string { return "" }
	}
	if cfg.OneShot == nil {
		cfg.OneShot = func(context.Context, OneShot) (OneShotResult, error) {
			return OneShotResult{}, errors.New("no way to run a one-shot")
		}
	}
	if cfg.Servers == nil {
		cfg.Servers = func() []int { return nil }
	}
	if cfg.Worktree == nil {
		cfg.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { return worktree.Tree{}, worktree.ErrNone }
	}
	e := &Engine{
		callouts: callouts{
			CountNow:  func(context.Context, *daemon.Agent) error { return nil },
			HoldsText: func(context.Context, *daemon.Agent, *daemon.Delivery) (bool, error) { return false, nil },
		},
		Config: cfg, Spool: hooks.OpenSpool(cfg.Data.Spool()),
		Refused: map[string]bool{}, laneErrors: map[lane.Key]int{},
	}
	e.settings.Store(&e.Config.Settings)
	e.Roster = &Roster{store: cfg.Store, host: cfg.Host, Rows: map[int64]daemon.Agent{}}
	e.Hub = feed.New(cfg.Store, cfg.Log)
	e.Lanes = lane.New(e.RunLane)
	return e
}

// BeginRun notes that the daemon begins to run.
func (d *Engine) BeginRun() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.RunBegan, d.RunsSince = d.Now(), time.Now()
	d.Presence.Begin(d.RunBegan)
}

// ErrStranger says that a process listens at the address of an agent's server that is not the agent's. It was sent nothing.
var ErrStranger = errors.New("another process listens there")

// Control is the server that a runtime runs for its agent. Its methods are safe for concurrent use.
type Control interface {
	// Follow reports what happens to the agent until ctx ends or the server cannot be reached. It first reports what has
	// happened before, as far as the server knows: a report has the same key each time. It makes the session, or finds it
	// by the link. If tell returns an error, Follow ends with it, because the report was not taken.
	Follow(ctx context.Context, tell func(runtimes.Report) error) error
	// Send submits a text, unless the session shows that the same text was submitted at the time since or later and was taken
	// or may still be taken; the zero time stands for any time. So it may be called again for one text, also by another
	// daemon. If it returns an error, the text may or may not have been submitted.
	Send(ctx context.Context, text string, since time.Time) error
	// Ask asks a copy of the session a question, which may use no tools, and returns the model's messages. The session does not
	// change, and the copy is removed.
	Ask(ctx context.Context, question string) ([]string, error)
	// Interrupt ends the running turn. It may be called again.
	Interrupt(ctx context.Context) error
	// Exit asks the program to exit. It may be called again. If rest is not nil and the session was given a prompt since then, Exit
	// does nothing, and its error is [ErrGivenWork]: Follow may not have reported that prompt yet.
	Exit(ctx context.Context, rest *runtimes.Rest) error
}

// Link says to which server a [Control] belongs.
type Link struct {
	Runtime    string
	Server     runtimes.Server
	AgentID    int64
	Process    tmux.Process // of the agent: what listens must be it, or run inside it
	Name       string       // of the agent, for people
	Began      time.Time    // when the agent's row was made, if it opens an earlier agent's session again; the zero time: the session is its own
	Session    string       // the session's id; "": it is not made yet, or nobody knows its id yet
	Cwd        string
	Mode       string // the permission mode of the launch
	Retrying   bool   // the newest report of a retry that was taken said that it has begun: see [Trouble]
	Transcript string // path of the file in which Follow keeps the conversation, one entry per line
}

// Earlier returns the prompts of the session that an earlier agent was given. found are those from before Began that a look finds; those of
// the first look count. They are kept among the launch files: once the clock was set back, the agent's own prompts are from before Began, too.
func (l *Link) Earlier(found []string) (prompts map[string]bool, err error) {
	prompts = map[string]bool{}
	if l.Began.IsZero() {
		return prompts, nil
	}
	path := filepath.Join(filepath.Dir(l.Transcript), "earlier.json")
	b, err := os.ReadFile(path)
	switch {
	case err == nil:
		err = json.Unmarshal(b, &found)
	case errors.Is(err, fs.ErrNotExist):
		if b, err = json.Marshal(found); err == nil {
			err = data.WriteFile(path, b, 0o600)
		}
	}
	for _, id := range found {
		prompts[id] = true
	}
	return prompts, err
}

// HistorySettings say how long agents, their handoffs and pipelines are kept after their ends. Zero: for ever. Documents are
// files, and are never deleted.
type HistorySettings struct {
	MaxAge time.Duration `yaml:"max_age"`
}
