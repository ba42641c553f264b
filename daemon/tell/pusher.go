package tell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

const (
	// SendWithin is the limit of one attempt.
	SendWithin = 10 * time.Second
	pushSweep  = 30 * time.Second    // a pusher reads the rows at least this often
	pushRetry  = 5 * time.Second     // after the store has failed
	pushKept   = 14 * 24 * time.Hour // how long ended pushes are kept
	pruneEvery = time.Hour
)

// backOff is how long a pusher waits after the first failed attempt, the second, and so on. After the last one it gives
// the push up.
var backOff = []time.Duration{
	5 * time.Second, 15 * time.Second, 45 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

// longestWait is the longest time between two attempts.
const longestWait = time.Hour

// PushStore keeps the pushes.
type PushStore interface {
	// OpenPushes returns the pushes to a target of a host that have not ended, in order, at most 200. The target "" stands
	// for all targets.
	OpenPushes(ctx context.Context, host, target string) ([]Push, error)
	// MovePush stores State, Attempts, NextAt, MaybeTwice and Error of a push, if its row is still in the state from after
	// that many attempts, and appends the event e in the same transaction; nil: no event. It reports whether it was.
	MovePush(ctx context.Context, p *Push, from PushState, attempts int, e *event.Event) (moved bool, err error)
	// PushReports says how the targets of a host do that have, or had, pushes; in the order of their names.
	PushReports(ctx context.Context, host string) ([]PushReport, error)
	// PrunePushes deletes the pushes of a host that ended before a time.
	PrunePushes(ctx context.Context, host string, before time.Time) error
}

// PusherConfig has the settings and dependencies of a pusher.
type PusherConfig struct {
	Host   string
	Store  PushStore
	Routes []Route
	Base   string // the address of the dashboard for links; "": messages have no link
	Log    *slog.Logger
	Clock  func() time.Time // the wall clock
	Moved  func()           // called after an event was stored
}

// Pusher sends pushes to their targets: to each target in order, to several at once. It commits that it sends a push
// before it sends, and commits the result after. If it is killed in between, the next pusher sends the push again with
// the same key, and notes on the row and in the message that it may have arrived twice. So no push is lost, and none is
// sent twice unnoticed. A push that fails is tried again by backOff, whose times are on the row. A push that is given up
// is an event. It is an alert if the target was up before, and reaches the other targets.
//
// Its methods are safe for concurrent use.
type Pusher struct {
	PusherConfig
	wakes []chan struct{} // by route
}

// NewPusher makes a pusher. It sends nothing before Run is called.
func NewPusher(cfg PusherConfig) *Pusher {
	p := &Pusher{PusherConfig: cfg}
	for range cfg.Routes {
		p.wakes = append(p.wakes, make(chan struct{}, 1))
	}
	return p
}

// Wake says that there may be a new push. It never blocks.
func (p *Pusher) Wake() {
	for _, wake := range p.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Run sends pushes until ctx ends. An attempt that runs then is cut off, and counts as one that may have arrived.
func (p *Pusher) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range p.Routes {
		w := &pushWorker{Pusher: p, route: &p.Routes[i]}
		wg.Go(func() { w.run(ctx, p.wakes[i]) })
	}
	p.housekeep(ctx)
	wg.Wait()
}

// housekeep gives up the pushes to targets that are no longer in the settings, and deletes old rows.
func (p *Pusher) housekeep(ctx context.Context) {
	for ctx.Err() == nil {
		again := pruneEvery
		if err := errors.Join(p.dropOrphans(ctx), p.Store.PrunePushes(ctx, p.Host, p.Clock().Add(-pushKept))); err != nil && ctx.Err() == nil {
			p.Log.Warn("old notifications not tidied; trying again", "error", err)
			again = pushRetry
		}
		pause(ctx, nil, again)
	}
}

// pause waits until ctx ends, wake has a value or the time is over.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// dropOrphans gives up the pushes whose target is not in the settings.
func (p *Pusher) dropOrphans(ctx context.Context) error {
	open, err := p.Store.OpenPushes(ctx, p.Host, "")
	if err != nil {
		return err
	}
	for i := range open {
		push := &open[i]
		if p.Route(push.Target) != nil {
			continue
		}
		if err := p.giveUp(ctx, push, push.State, push.Attempts, "notify.targets in config.yaml no longer has this target"); err != nil {
			return err
		}
	}
	return nil
}

// Route returns the route to a target; nil: there is none.
func (p *Pusher) Route(name string) *Route {
	for i := range p.Routes {
		if p.Routes[i].Name == name {
			return &p.Routes[i]
		}
	}
	return nil
}

// SendNow sends a message without a row, once.
func (p *Pusher) SendNow(ctx context.Context, r *Route, m Message) error {
	now := p.Clock()
	m.Host, m.At, m.Key = p.Host, now, fmt.Sprintf("understudy-%s-%d-%s", m.Level, now.UnixMilli(), r.Name)
	return p.send(ctx, r, m)
}

// Broadcast sends an urgent notification without rows, once, to all targets that take errors. It is for when the store
// does not answer.
func (p *Pusher) Broadcast(ctx context.Context, n Notification) {
	var wg sync.WaitGroup
	for i := range p.Routes {
		r := &p.Routes[i]
		if !r.takes(&event.Event{Type: event.DatabaseLost, Alert: true}) {
			continue
		}
		wg.Go(func() {
			if err := p.SendNow(ctx, r, Message{Title: n.Title, Text: n.Message, Level: LevelError, Type: event.DatabaseLost}); err != nil {
				p.Log.Warn("notification not sent", "target", r.Name, "error", err)
			}
		})
	}
	wg.Wait()
}

// send makes one attempt.
func (p *Pusher) send(ctx context.Context, r *Route, m Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, SendWithin, fmt.Errorf("no answer within %s", SendWithin))
	defer cancel()
	err := r.Target.Send(ctx, r.shaped(m, p.Base, p.Clock()))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// giveUp ends a push whose row is in the state from after that many attempts, and stores the event that says so.
func (p *Pusher) giveUp(ctx context.Context, push *Push, from PushState, attempts int, why string) error {
	reports, err := p.Store.PushReports(ctx, p.Host)
	if err != nil {
		return err
	}
	down := false
	for i := range reports {
		down = down || reports[i].Target == push.Target && reports[i].Down()
	}
	push.State, push.Error = PushFailed, why
	e := &event.Event{
		Type: event.NotificationFailed, Host: p.Host, At: p.Clock(),
		AgentID: push.Message.AgentID, HandoffID: push.Message.HandoffID, PipelineID: push.Message.PipelineID,
		// One alert for a target that is down, and none about an alert of this kind: two targets that are down would tell of
		// each other for ever.
		Alert: !down && push.Message.Type != event.NotificationFailed,
		Cause: event.CauseTarget + push.Target,
		Payload: event.Payload(map[string]any{
			"target": push.Target, "title": push.Message.Title, "event_id": push.Message.EventID, "error": why, "attempts": push.Attempts,
			"message": fmt.Sprintf("A notification did not reach the target %s: %s. See Settings on the dashboard, mend it and try it with `understudy notifications test %s`.",
				push.Target, why, push.Target),
		}),
	}
	moved, err := p.Store.MovePush(ctx, push, from, attempts, e)
	if moved {
		p.Log.Error("notification given up", "target", push.Target, "title", push.Message.Title, "attempts", push.Attempts, "error", why)
		p.Moved()
	}
	return err
}
