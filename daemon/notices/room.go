package notices

import (
	"context"
	"sync"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/intake"
	"github.com/understudyd/understudy/daemon/tell"
)

// Room tells the operator of what happens. Its methods are safe for concurrent use.
type Room struct {
	env      *engine.Engine
	store    Store
	notifier tell.Notifier
	targets  []tell.Route
	pusher   *tell.Pusher
}

// Store is what the room has of the database.
type Store interface {
	daemon.EventReader
	daemon.PreferenceStore
	tell.PushStore
	Agent(ctx context.Context, id int64) (daemon.Agent, error)
	Pipeline(ctx context.Context, id int64) (daemon.Pipeline, error)
}

// Join makes the room of a daemon. Call it before the daemon runs.
func Join(d *intake.Daemon) *Room {
	r := &Room{store: d.Store, notifier: d.Notifier, targets: d.Targets}
	alarm := make(chan struct{}, 1) // wakes the teller
	var teller *tell.Teller
	part := engine.Part{
		Runs: []engine.Run{{Name: "teller", Do: func(ctx context.Context) { teller.Run(ctx, alarm) }}},
		Tell: r.tellAll,
		Logged: func() {
			select {
			case alarm <- struct{}{}:
			default:
			}
		},
	}
	if len(r.targets) > 0 {
		part.Runs = append(part.Runs, engine.Run{Name: "pusher", Do: func(ctx context.Context) { r.pusher.Run(ctx) }})
	}
	r.env = d.Engine
	engine.Join(d.Engine, part)
	r.pusher = tell.NewPusher(tell.PusherConfig{
		Host: r.env.Host, Store: r.store, Routes: r.targets, Base: d.PublicURL, Log: r.env.Log, Clock: r.env.Now, Moved: r.env.EventsChanged,
	})
	teller = tell.New(tell.Config{
		Host: r.env.Host, Store: rowsToTell{r.store}, Notifier: r.notifier, Log: r.env.Log, Clock: r.env.Now, Spent: r.env.TimeSpent,
		Routes: r.targets, Marked: func() { r.env.Hub.Poke(); r.pusher.Wake() },
		Kept: func(phase string) bool { return !daemon.BeforeRecord(daemon.Phase(phase)) },
	})
	return r
}

// tellAll shows a notification on the desktop and sends it to all targets, once, without a row.
func (r *Room) tellAll(ctx context.Context, n tell.Notification) {
	var sending sync.WaitGroup
	sending.Go(func() { r.pusher.Broadcast(ctx, n) })
	defer sending.Wait()
	if _, err := r.notifier.Notify(ctx, n); err != nil {
		r.env.Log.Warn("operator not told on the desktop", "error", err)
	}
}
