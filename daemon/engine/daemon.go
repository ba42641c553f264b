package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/feed"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/runtimes"
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
	NoKeys      bool // panes take no keys from browsers
	Log         daemon.LogSettings
	History     HistorySettings
	Resume      bool                // after a start, the daemon itself opens the sessions again of agents that died with their tmux server
	Runtimes    map[string][]string // the command of each runtime, as a list of arguments
	// Generic are the runtimes of Runtimes that we do not know, as [runtimes.NewGeneric] made them. One with the name of a
	// runtime that we know takes the place of that.
	Generic map[string]*runtimes.Runtime
}

// Config holds the settings of a daemon, and the parts that it works with.
type Config struct {
	Host     string   // this machine's host id
	Settings Settings // those of the start; [Daemon.Settings] returns the present ones
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
	Environ     []string // the environment that agents inherit, after runtimes.StripEnv
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

// Daemon supervises the agents of one host. Its methods are safe for concurrent use.
type Daemon struct {
	Config
	lanes *lane.Lanes
	hub   *feed.Hub
	spool *hooks.Spool

	paneLooks  chan struct{} // holds a value for each hook that looks for its pane
	diffs      chan struct{} // holds a value for each diff that is made
	assemblies chan struct{} // holds a value for each assembly that runs
	fileLooks  chan struct{} // holds a value for each look at a file for a hook, even if the look hangs

	roster   *roster
	memories memories
	counts   counts
	opening  openings
	accounts accounts
	duties   []Duty
	parts    []Part // of the rooms
	arriving underway
	told     twins
	logStart int64 // see LogStart; set before Run

	peeking atomic.Bool // a peekAtStarting runs
	heading atomic.Bool // a lookAtHeads runs
	resumed atomic.Bool // resumeDead has done its work

	settings  atomic.Pointer[Settings] // nobody changes what it points to
	reloading sync.Mutex               // one reload at a time

	mu         sync.Mutex
	paused     pause
	spoolTold  bool      // the operator was alerted that the spool can't be read
	runBegan   time.Time // when Run was called last
	runsSince  time.Time // the same, by the monotonic clock
	presence   presence.Presence
	refused    map[string]bool    // the things that were already reported to the operator: see firstTime
	budgetTold map[[2]string]bool // by persona, and day, stage and budget: the operator was told, as the rows say
	budgetDay  string             // the day on which resetBudgets has looked at the rows
	laneErrors map[lane.Key]int   // how many errors in a row a lane had
}

// New makes a daemon. Nothing runs before Run.
func New(cfg Config) *Daemon {
	if cfg.Processes == nil {
		cfg.Processes = system{}
	}
	if cfg.Registry == nil {
		cfg.Registry = readEntry
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
	if cfg.Extract == nil {
		cfg.Extract = underHeadings
	}
	if cfg.Environment == nil {
		cfg.Environment = processEnviron
	}
	if cfg.FreePort == nil {
		cfg.FreePort = freePort
	}
	if cfg.Servers == nil {
		cfg.Servers = func() []int { return nil }
	}
	if cfg.Worktree == nil {
		cfg.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { return worktree.Tree{}, worktree.ErrNone }
	}
	d := &Daemon{
		Config:     cfg,
		spool:      hooks.OpenSpool(cfg.Data.Spool()),
		paneLooks:  make(chan struct{}, paneLooks),
		diffs:      make(chan struct{}, maxDiffs),
		assemblies: make(chan struct{}, maxAssemblies),
		fileLooks:  make(chan struct{}, fileLooks),
		memories:   memories{agents: map[int64]agentMemory{}},
		refused:    map[string]bool{},
		laneErrors: map[lane.Key]int{}, budgetTold: map[[2]string]bool{},
	}
	d.accounts = accounts{data: cfg.Data, environ: func(p tmux.Process) ([]string, error) {
		environ, err := cfg.Environment(p.PID)
		if err == nil && !d.lives(p) { // another process may have its number
			err = tmux.ErrNoProcess
		}
		return environ, err
	}}
	d.settings.Store(&cfg.Settings)
	d.roster = &roster{store: cfg.Store, host: cfg.Host, rows: map[int64]daemon.Agent{}}
	d.hub = feed.New(cfg.Store, cfg.Log)
	d.lanes = lane.New(d.runLane)
	d.spool.OnBad = d.badSpoolFile
	Join(d, Part{Duties: ownDuties(d), Lanes: []Lane{{AgentLane, d.work}, {TreeLane, d.workTree}}})
	return d
}

// Prepare replays the spool that earlier daemons left, so that later hooks find all earlier ones applied. Call it
// before listening.
func (d *Daemon) Prepare(ctx context.Context) error {
	last, err := d.Store.LastEventID(ctx)
	if err != nil {
		return fmt.Errorf("newest event: %w", err)
	}
	d.logStart = last
	d.hub.Start(last)
	return d.replaySpool(ctx)
}

// Run works until ctx ends. When it returns, all goroutines of the daemon have ended, except goroutines that hang in the
// file system: an assembly, or looks at files for hooks. The agents go on. Run may be called again, for instance after
// the database was unavailable.
func (d *Daemon) Run(ctx context.Context) error {
	d.memories.beginRun()
	d.mu.Lock()
	d.runBegan, d.runsSince = d.now(), time.Now()
	d.presence.Begin(d.runBegan)
	d.paused.on = false
	d.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { d.lanes.Run(ctx) })
	wg.Go(func() { d.hub.Run(daemon.WithCaller(ctx, "hub")) })
	for _, p := range d.parts {
		for _, run := range p.Runs {
			wg.Go(func() { run.Do(daemon.WithCaller(ctx, run.Name)) })
		}
	}
	wg.Go(func() { d.runRetention(daemon.WithCaller(ctx, "retention")) })
	wg.Go(func() { d.resumeDead(daemon.WithCaller(ctx, "resume")) })
	d.takeUp(daemon.WithCaller(ctx, "start"))
	d.runSweep(ctx)
	wg.Wait()
	return context.Cause(ctx)
}

// Close ends all subscriptions. Call it before the server that serves them is shut down.
func (d *Daemon) Close() { d.hub.Close() }

// Wake has the lane of an agent look at its rows. It never blocks.
func (d *Daemon) Wake(agentID int64) { d.lanes.Wake(agentLane(agentID)) }

// Sweep wakes all lanes of a daemon that have something to do. It never blocks.
func Sweep(d *Daemon) { d.lanes.Wake(sweepLane) }

// ownTerminal returns our own tmux server.
func (d *Daemon) ownTerminal() (Terminal, error) { return d.Terminal(d.Data.TmuxSocket()) }

// terminalOf returns the tmux server that holds an agent's pane. It types into the pane and ends it only while it is the
// agent's.
func (d *Daemon) terminalOf(a *daemon.Agent) (Terminal, error) {
	if !a.HasPane() {
		return nil, daemon.ErrAgentNoPane
	}
	term, err := d.Terminal(a.PaneSocket)
	if err == nil && a.Managed {
		term = ownPane{term, paneMark(a.ID)}
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
