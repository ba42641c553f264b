package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// Daemon supervises the agents of one host. Its methods are safe for concurrent use. It takes hooks, and has what no room has.
type Daemon struct {
	*Flow

	memories  Memory[hookMemory]
	paneLooks chan struct{} // holds a value for each hook that looks for its pane
	arriving  underway
	told      twins

	mu         sync.Mutex
	paused     pause
	spoolTold  bool               // the operator was alerted that the spool can't be read
	budgetTold map[[2]string]bool // by persona, and day, stage and budget: the operator was told, as the rows say
	budgetDay  string             // the day on which resetBudgets has looked at the rows
}

// New makes a daemon. Nothing runs before Run.
func New(cfg Config) *Daemon {
	d := &Daemon{
		Flow:      newFlow(newSupervisor(newCourier(newSight(newEngine(cfg))))),
		paneLooks: make(chan struct{}, paneLooks), budgetTold: map[[2]string]bool{},
	}
	d.report, d.replayFor, d.countNow = d.takeReport, d.applySpooledFor, d.countUsageNow
	d.lookFor = func(ctx context.Context, proc tmux.Process, q question) answer { return lookFor(ctx, d, proc, q) }
	d.spool.OnBad = d.badSpoolFile
	Remember(d.Engine, &d.memories)
	Join(d, Part{Duties: ownDuties(d), Lanes: []Lane{
		{sweepLane.Kind, doneOnce(d, sweepOnce)}, {spoolLane.Kind, doneOnce(d, replayOnce)}, {AgentLane, d.work}, {TreeLane, d.workTree},
	}})
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
	d.beginRun()
	forgetRun(d)
	d.mu.Lock()
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

// forgetRun forgets the watched processes and the forks, because their goroutines ended with the last Run.
func forgetRun(d *Daemon) {
	dropWatches(d.Sight)
	d.forks.ChangeAll(func(_ int64, m *forkMemory) { *m = forkMemory{} })
}

// Close ends all subscriptions. Call it before the server that serves them is shut down.
func (d *Daemon) Close() { d.hub.Close() }

// hookMemory is what a Daemon remembers about one agent: see [Memory].
type hookMemory struct {
	// measured says whether the transcript was read after the last turn. After a restart the daemon reads it once more.
	measured measurement
	// unknownTold says that the operator was told that the context use is unknown. After a restart the daemon tells it
	// once more.
	unknownTold bool
	// heldBy is the budget by which the agent is held. After a restart the lane looks at the budget again.
	heldBy personas.Budget
	// usage is how far the transcripts were counted. After a restart the daemon reads that from the rows.
	usage *usageMemory
}
