package intake

import (
	"context"
	"fmt"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/tmux"
)

// Daemon supervises the agents of one host. Its methods are safe for concurrent use. It takes hooks, and has what no room has.
type Daemon struct {
	*handoffs.Flow

	paneLooks chan struct{} // holds a value for each hook that looks for its pane
	arriving  underway
	told      twins

	mu        sync.Mutex
	paused    pause
	spoolTold bool // the operator was alerted that the spool can't be read
}

// New makes a daemon. Nothing runs before Run.
func New(cfg engine.Config) *Daemon {
	d := &Daemon{
		Flow:      handoffs.New(agents.New(deliveries.New(sight.New(engine.New(cfg))))),
		paneLooks: make(chan struct{}, paneLooks),
	}
	d.Report, d.ReplayFor, d.Arriving = d.takeReport, d.applySpooledFor, d.arriving.of
	d.LookFor = func(ctx context.Context, proc tmux.Process, q engine.Question) engine.Answer {
		return lookFor(ctx, d, proc, q)
	}
	d.Spool.OnBad = d.badSpoolFile
	engine.Join(d.Engine, engine.Part{Duties: ownDuties(d), Lanes: []engine.Lane{
		{Kind: engine.SweepLane.Kind, Do: doneOnce(d, sweepOnce)}, {Kind: engine.SpoolLane.Kind, Do: doneOnce(d, replayOnce)},
		{Kind: engine.AgentLane, Do: d.work},
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
	d.NewestAtStart = last
	d.Hub.Start(last)
	return d.replaySpool(ctx)
}

// Run works until ctx ends. When it returns, all goroutines of the daemon have ended, except goroutines that hang in the
// file system: an assembly, or looks at files for hooks. The agents go on. Run may be called again, for instance after
// the database was unavailable.
func (d *Daemon) Run(ctx context.Context) error {
	d.BeginRun()
	forgetRun(d)
	d.mu.Lock()
	d.paused.on = false
	d.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { d.Lanes.Run(ctx) })
	wg.Go(func() { d.Hub.Run(daemon.WithCaller(ctx, "hub")) })
	for _, p := range d.Parts {
		for _, run := range p.Runs {
			wg.Go(func() { run.Do(daemon.WithCaller(ctx, run.Name)) })
		}
	}
	wg.Go(func() { d.ResumeDead(daemon.WithCaller(ctx, "resume")) })
	d.takeUp(daemon.WithCaller(ctx, "start"))
	d.runSweep(ctx)
	wg.Wait()
	return context.Cause(ctx)
}

// forgetRun forgets the watched processes and the forks, because their goroutines ended with the last Run.
func forgetRun(d *Daemon) {
	sight.DropWatches(d.Sight)
	d.Forks.ChangeAll(func(_ int64, m *handoffs.ForkMemory) { *m = handoffs.ForkMemory{} })
}

// Close ends all subscriptions. Call it before the server that serves them is shut down.
func (d *Daemon) Close() { d.Hub.Close() }
