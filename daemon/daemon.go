package daemon

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

	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/presence"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// Typist types into panes and reads them. Implementations are safe for concurrent use.
type Typist interface {
	// Paste types text into a pane, with the keys of opt before and after it, in one step that
	// nothing can come between. tmux.ErrGone, tmux.ErrDead, tmux.ErrChanged: nothing was typed.
	// tmux.ErrOnce: the same opt.Once was typed before, and nothing was typed now.
	Paste(ctx context.Context, ref tmux.Ref, text string, opt tmux.PasteOptions) error
	// Press presses keys in a pane that still shows and runs what was seen, with the errors of Paste.
	Press(ctx context.Context, ref tmux.Ref, seen tmux.Sight, keys ...tmux.Key) error
	// Look returns what a pane shows and runs.
	Look(ctx context.Context, ref tmux.Ref) (tmux.View, error)
	// Capture returns what the panes show, by pane id; panes that are gone are left out.
	Capture(ctx context.Context, lines int, ansi bool, refs ...tmux.Ref) (map[string]string, error)
}

// Panes makes and ends panes. Implementations are safe for concurrent use.
type Panes interface {
	Spawn(ctx context.Context, spec tmux.Spec) (tmux.PaneInfo, error)
	List(ctx context.Context) ([]tmux.PaneInfo, error)
	Inspect(ctx context.Context, ref tmux.Ref) (tmux.PaneInfo, error)
	Kill(ctx context.Context, ref tmux.Ref) error
}

// Clients are the people who watch.
type Clients interface {
	// SwitchClients has those who are attached to one session of our server look at another.
	SwitchClients(ctx context.Context, from, to string) error
}

// Terminal is one tmux server.
type Terminal interface {
	Typist
	Panes
	Clients
}

// Settings are what the operator may set of the domain.
type Settings struct {
	Handoff  HandoffSettings
	Pipeline PipelineSettings
	Notify   NotifySettings
	Log      LogSettings
	History  HistorySettings
	Runtimes map[string][]string // the command of each runtime, an argument list
}

// HandoffSettings are the deadlines and limits of a handoff.
type HandoffSettings struct {
	DocumentTimeout     time.Duration // instruction accepted -> document verified
	BusyTimeout         time.Duration // the running turn of a busy agent may take this long
	AckTimeout          time.Duration // text typed -> runtime confirms that it was submitted
	ExitTimeout         time.Duration // exit command typed -> process gone
	RegistrationTimeout time.Duration // pane started -> session-start
	MaxDocumentBytes    int64

	MaxMessages        int           // passed on from the end of the conversation
	IncludeAllMessages bool          // instead: as many as MaxContextBytes allows, and all decisions
	MaxContextBytes    int64         // all that stands beside the document in the context file
	ValidateContext    bool          // check what the successor's role requires
	LogTiming          bool          // log how long the parts of the assembly took
	AssemblyTimeout    time.Duration // the whole assembly of the context
	Auto               AutoSettings
}

// PipelineSettings are the limits of runs.
type PipelineSettings struct {
	StepTimeout time.Duration // a step's agent started -> end of its turn, where the template does not say
	MaxRunning  int           // runs at work on this host, and agents of runs
	Cwd         string        // where a run works that names no directory; "": it must name one
}

// AutoSettings say what the fill of a context window means, in percent.
type AutoSettings struct {
	Enabled bool // hand over at Trigger
	Warn    int
	High    int
	Trigger int
}

// DefaultHandoff are the settings of the contract.
var DefaultHandoff = HandoffSettings{
	DocumentTimeout:     5 * time.Minute,
	BusyTimeout:         15 * time.Minute,
	AckTimeout:          30 * time.Second,
	ExitTimeout:         20 * time.Second,
	RegistrationTimeout: 90 * time.Second,
	MaxDocumentBytes:    900_000,
	MaxMessages:         50,
	MaxContextBytes:     1_000_000,
	ValidateContext:     true,
	LogTiming:           true,
	AssemblyTimeout:     5 * time.Second,
	Auto:                AutoSettings{Warn: 60, High: 70, Trigger: 75},
}

// Config is what a daemon is made of.
type Config struct {
	Host      string // this machine's host id
	Settings  Settings
	Store     Store
	Data      data.Dir
	Personas  *personas.Store
	Templates *personas.Templates
	// Terminal returns the tmux server at a socket: our own, or one of a person's.
	Terminal func(socket string) (Terminal, error)
	Notifier tell.Notifier
	// Processes are those of the machine; nil: as the system tells of them.
	Processes Processes
	// Registry reads an entry of the registry that the agents' runtime keeps; nil: the file at path.
	Registry func(path string) ([]byte, error)
	// Clock is the time of day; nil: the system's. It may step.
	Clock func() time.Time
	// Random is where secrets and what must be unique come from; nil: crypto/rand. It never ends.
	Random  io.Reader
	Log     *slog.Logger
	Environ []string // what agents inherit, before it is stripped
	Binary  string   // our own executable: launches agents and runs their hooks
	// Lookup says why a runtime's command can't be run, in one sentence with the fix; nil: it can.
	Lookup func(command []string) error
	// Version returns what a runtime's command prints as its version, "" if it can't be told.
	Version func(ctx context.Context, command []string) string
	// OneShot runs a command to its end. When ctx ends, so does the command with all that it has
	// started, at once, and the error is the context's. A command that the daemon's own death leaves
	// behind must end with it.
	OneShot func(ctx context.Context, job OneShot) (OneShotResult, error)
	// Worktree asks git about a directory; ErrNoWorktree.
	Worktree func(ctx context.Context, q worktree.Query) (worktree.Tree, error)
	Trees    worktree.Trees // of runs with a branch
	// Servers returns the processes of the servers that the daemon runs for itself, but for tmux.
	Servers func() []int
}

// Daemon supervises the agents of one host. Its methods are safe for concurrent use.
type Daemon struct {
	Config
	lanes  *lane.Lanes
	hub    *hub
	spool  *hooks.Spool
	alarm  chan struct{} // the teller has something to do
	teller *tell.Teller  // works in Run alone

	paneLooks  chan struct{} // has one for each hook that looks for its pane
	assemblies chan struct{} // has one for each that runs
	fileLooks  chan struct{} // has one for each look at a file for a hook, those that hang among them

	roster   *roster
	memories memories
	counts   counts
	arriving underway
	logStart int64 // see LogStart; set before Run

	peeking atomic.Bool // see peek

	mu         sync.Mutex
	paused     pause
	spoolTold  bool      // the operator knows that the spool can't be read
	runBegan   time.Time // of the run
	presence   presence.Presence
	told       map[toldHook]hookRun // hooks that came, see isTwin
	refused    map[string]bool      // what the operator was told of once, see first
	laneErrors map[int64]int        // errors of a lane, one after the other, by the lane's key
}

// New makes a daemon; nothing runs before Run.
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
	if cfg.Servers == nil {
		cfg.Servers = func() []int { return nil }
	}
	if cfg.Worktree == nil {
		cfg.Worktree = func(context.Context, worktree.Query) (worktree.Tree, error) { return worktree.Tree{}, worktree.ErrNone }
	}
	d := &Daemon{
		Config:     cfg,
		spool:      hooks.OpenSpool(cfg.Data.Spool()),
		alarm:      make(chan struct{}, 1),
		paneLooks:  make(chan struct{}, paneLooks),
		assemblies: make(chan struct{}, maxAssemblies),
		fileLooks:  make(chan struct{}, fileLooks),
		memories:   memories{agents: map[int64]agentMemory{}},
		refused:    map[string]bool{},
		laneErrors: map[int64]int{},
	}
	d.roster = &roster{store: cfg.Store, host: cfg.Host, rows: map[int64]Agent{}}
	d.hub = newHub(cfg.Store, cfg.Log)
	d.teller = d.newTeller()
	d.lanes = lane.New(d.runLane)
	d.spool.OnBad = d.badSpoolFile
	return d
}

// Prepare takes up what earlier daemons left: it replays the spool, so that hooks that come in
// afterwards find everything before them applied. Call it before listening.
func (d *Daemon) Prepare(ctx context.Context) error {
	last, err := d.Store.LastEventID(ctx)
	if err != nil {
		return fmt.Errorf("newest event: %w", err)
	}
	d.logStart = last
	d.hub.start(last)
	return d.replaySpool(ctx)
}

// Run works until ctx ends, and has ended when it returns: no goroutine of the daemon's is left, but for
// what hung in the file system and was given up: an assembly, looks at files for hooks.
// Agents go on. It may be called again, as after the database was away.
func (d *Daemon) Run(ctx context.Context) error {
	d.memories.beginRun()
	d.mu.Lock()
	d.runBegan = d.now()
	d.presence.Begin(d.runBegan)
	d.paused.on = false
	d.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { d.lanes.Run(ctx) })
	wg.Go(func() { d.hub.run(WithCaller(ctx, "hub")) })
	wg.Go(func() { d.teller.Run(WithCaller(ctx, "teller"), d.alarm) })
	wg.Go(func() { d.runRetention(WithCaller(ctx, "retention")) })
	d.takeUp(WithCaller(ctx, "start"))
	d.runSweep(ctx)
	wg.Wait()
	return context.Cause(ctx)
}

// Close ends all subscriptions. Call it before the server that serves them is shut down.
func (d *Daemon) Close() { d.hub.close() }

// Wake has an agent's lane look at its rows, or that of a run for the negative of its id; 0 wakes
// all that have something to do. It never blocks.
func (d *Daemon) Wake(key int64) { d.lanes.Wake(key) }

// ownTerminal returns the terminal of our own tmux server.
func (d *Daemon) ownTerminal() (Terminal, error) { return d.Terminal(d.Data.TmuxSocket()) }

// terminalOf returns the terminal that holds an agent's pane.
func (d *Daemon) terminalOf(a *Agent) (Terminal, error) {
	if !a.HasPane() {
		return nil, errAgentNoPane
	}
	return d.Terminal(a.PaneSocket)
}

// notFound turns a store's ErrNotFound into the sentence given.
func notFound(err error, sentence *Error) error {
	if errors.Is(err, ErrNotFound) {
		return sentence
	}
	return err
}
