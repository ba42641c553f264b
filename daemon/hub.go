package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"
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
	subs   map[chan Event]struct{}
	closed bool
}

// subscriberBuffer is how far, in events, a subscriber may fall behind.
const subscriberBuffer = 256

func newHub(store EventReader, log *slog.Logger) *hub {
	return &hub{store: store, log: log, poked: make(chan struct{}, 1), subs: map[chan Event]struct{}{}}
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
		h.pump(ctx)
		select {
		case <-ctx.Done():
			return
		case <-h.poked:
		case <-tick.C:
		}
	}
}

func (h *hub) pump(ctx context.Context) {
	for {
		events, err := h.store.Events(ctx, EventFilter{After: h.last, Limit: 500})
		if err != nil {
			if ctx.Err() == nil {
				h.log.Warn("events not read; trying again", "error", err)
			}
			return
		}
		for _, e := range events {
			h.publish(e)
			h.last = e.ID
		}
		if len(events) < 500 {
			return
		}
	}
}

func (h *hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subs {
		select {
		case ch <- e:
		default:
			delete(h.subs, ch)
			close(ch)
		}
	}
}

// subscribe returns a channel of new events; stop ends the subscription. The channel is closed
// when the subscriber fell behind or the daemon ends.
func (h *hub) subscribe() (events <-chan Event, stop func()) {
	ch := make(chan Event, subscriberBuffer)
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
