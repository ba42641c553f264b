package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/event"
)

// hub passes new events on to subscribers. One goroutine reads them from the log, in order, so
// every subscriber sees what a reader of the table would see. Publishing never blocks: a
// subscriber that falls behind is dropped (its channel is closed) and comes back with the last id
// it saw.
type hub struct {
	store EventReader
	log   *slog.Logger
	poked chan struct{}
	last  int64

	mu     sync.Mutex
	subs   map[chan *Published]struct{}
	closed bool
}

// Published is an event as it is passed on, encoded once for all who are sent it. It is shared:
// nobody changes it.
type Published struct {
	event.Event
	JSON []byte // as clients get it
}

const (
	// subscriberBuffer is how far, in events, a subscriber may fall behind.
	subscriberBuffer = 512
	hubPage          = 250 // events that are passed on at once
)

// After events were passed on, those that come next are gathered for a while, the longer the more
// subscribers there are: whoever is woken once for four events rather than four times leaves time to
// others. For a dozen subscribers that is nothing; an event after a pause is passed on at once.
const (
	gatherEach = 40 * time.Microsecond // for each subscriber
	gatherMost = 40 * time.Millisecond
)

func newHub(store EventReader, log *slog.Logger) *hub {
	return &hub{store: store, log: log, poked: make(chan struct{}, 1), subs: map[chan *Published]struct{}{}}
}

func (h *hub) start(last int64) { h.last = last }

func (h *hub) poke() {
	select {
	case h.poked <- struct{}{}:
	default:
	}
}

// run passes events on until ctx ends. A poll each second makes up for a notification that was
// lost.
func (h *hub) run(ctx context.Context) {
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
		// One look is enough for both. Without this the select above would decide whether there is another one.
		drain(h.poked)
		drain(tick.C)
	}
}

// drain takes what is ready in a channel.
func drain[T any](c <-chan T) {
	select {
	case <-c:
	default:
	}
}

// gather lets events come together before more are passed on.
func (h *hub) gather(ctx context.Context) {
	wait := time.NewTimer(h.gathering())
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
}

// gathering is how long that takes with the subscribers that there are.
func (h *hub) gathering() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(time.Duration(len(h.subs))*gatherEach, gatherMost)
}

// pump passes on what the log has, at most a page, and returns how many events that were.
func (h *hub) pump(ctx context.Context) int {
	events, err := h.store.Events(ctx, EventFilter{After: h.last, Limit: hubPage})
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

// publish gives each subscriber all of the events before it turns to the next, who is woken once.
func (h *hub) publish(events []event.Event) {
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

func (h *hub) encode(events []event.Event) []*Published {
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

// offer reports whether there was room for all of the events.
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

// subscribe returns a channel of new events; stop ends the subscription. The channel is closed
// when the subscriber fell behind or the daemon ends.
func (h *hub) subscribe() (events <-chan *Published, stop func()) {
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

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		delete(h.subs, ch)
		close(ch)
	}
}
