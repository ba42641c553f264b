// Package feed passes new events of the log on to subscribers, at once. A [Hub] is safe for concurrent use. It keeps no
// events: it drops a subscriber that falls behind, and that subscriber reads the missed events from the log.
package feed

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// Log is what the hub needs of the store.
type Log interface {
	// Events returns the events after f.After, in order.
	Events(ctx context.Context, f event.Filter) ([]event.Event, error)
}

// Hub is the feed: it passes new events on to subscribers. One goroutine reads the events from the log, in order, so that
// every subscriber sees what a reader of the table would see. Publishing never blocks: when a subscriber falls behind, the
// hub closes its channel, and the subscriber comes back with the last id that it saw.
type Hub struct {
	store Log
	log   *slog.Logger
	poked chan struct{} // has a value when the log may have grown
	last  int64         // id of the newest event that was passed on

	mu     sync.Mutex
	subs   map[chan *Published]struct{}
	closed bool
}

// Published is an event of the feed, encoded once for all subscribers. They share it, and must not change it.
type Published struct {
	event.Event
	JSON []byte // the event as clients get it
}

const (
	subscriberBuffer = 512 // events that a subscriber may fall behind
	hubPage          = 250 // the most events that pump passes on in one call
)

// After the hub has passed events on, it waits before it passes on more. So a subscriber is woken once for several events,
// and other goroutines get time to run. The wait grows with the number of subscribers; for a dozen it is half a
// millisecond. An event that comes after the wait is passed on at once.
const (
	gatherEach = 40 * time.Microsecond // the wait is this long for each subscriber
	gatherMost = 40 * time.Millisecond // the longest wait
)

func New(store Log, log *slog.Logger) *Hub {
	return &Hub{store: store, log: log, poked: make(chan struct{}, 1), subs: map[chan *Published]struct{}{}}
}

// Start makes Run begin after the event with the id last. Call it before Run.
func (h *Hub) Start(last int64) { h.last = last }

// Poke tells the hub that the log may have grown. It never blocks.
func (h *Hub) Poke() {
	select {
	case h.poked <- struct{}{}:
	default:
	}
}

// Run passes events on until ctx ends. It also reads the log each second, because a NOTIFY of another host may be lost.
func (h *Hub) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		n := h.pump(ctx)
		if n > 0 {
			h.gather(ctx)
		}
		if n == hubPage {
			continue
		}
		select {
		case <-ctx.Done():
		case <-h.poked:
		case <-tick.C:
		}
		if ctx.Err() != nil {
			return
		}
		// If a poke and a tick came together, select has taken only one. Take the other too: one read serves both.
		drain(h.poked)
		drain(tick.C)
	}
}

// drain takes a value out of a channel if one is ready.
func drain[T any](c <-chan T) {
	select {
	case <-c:
	default:
	}
}

// gather waits until the next events may be passed on.
func (h *Hub) gather(ctx context.Context) {
	wait := time.NewTimer(h.gathering())
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
}

// gathering returns how long gather waits for the present number of subscribers.
func (h *Hub) gathering() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(time.Duration(len(h.subs))*gatherEach, gatherMost)
}

// pump passes on the events after h.last, at most hubPage, and returns how many it passed on.
func (h *Hub) pump(ctx context.Context) int {
	events, err := h.store.Events(ctx, event.Filter{After: h.last, Limit: hubPage})
	if err != nil && ctx.Err() == nil {
		h.log.Warn("events not read; trying again", "error", err)
	}
	if len(events) == 0 {
		return 0
	}
	h.publish(events)
	h.last = events[len(events)-1].ID
	return len(events)
}

// publish sends all events to the first subscriber, then all to the next, and so on, so that each subscriber is woken once.
// It drops a subscriber that has no room for all of them.
func (h *Hub) publish(events []event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) == 0 {
		return
	}
	published := h.encode(events)
	for ch := range h.subs {
		if !offer(ch, published) {
			delete(h.subs, ch)
			close(ch)
		}
	}
}

func (h *Hub) encode(events []event.Event) []*Published {
	published := make([]*Published, 0, len(events))
	for _, e := range events {
		b, err := json.Marshal(e)
		if err != nil {
			h.log.Error("event passed over: it is no JSON", "event_id", e.ID, "error", err)
			continue
		}
		published = append(published, &Published{Event: e, JSON: b})
	}
	return published
}

// offer sends events to a subscriber until there is no room, and reports whether there was room for all.
func offer(ch chan<- *Published, events []*Published) bool {
	for _, e := range events {
		select {
		case ch <- e:
		default:
			return false
		}
	}
	return true
}

// Subscribe returns a channel of new events; stop ends the subscription. The hub closes the channel when the subscriber
// falls behind, and when the daemon ends.
func (h *Hub) Subscribe() (events <-chan *Published, stop func()) {
	ch := make(chan *Published, subscriberBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(ch)
		return ch, func() {}
	}
	h.subs[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.subs[ch]; ok {
			delete(h.subs, ch)
			close(ch)
		}
	}
}

// Close ends all subscriptions. After Close, Subscribe returns a closed channel.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		delete(h.subs, ch)
		close(ch)
	}
}
