package feed

import (
	"log/slog"
	"testing"

	"github.com/understudyd/understudy/daemon/event"
)

// A subscriber that does not read gets events without a gap, and then the end of its channel. Another that reads gets all.
func TestSubscriberThatFallsBehindIsDropped(t *testing.T) {
	t.Parallel()
	h := New(nil, slog.New(slog.DiscardHandler))
	slow, stopSlow := h.Subscribe()
	quick, stopQuick := h.Subscribe()
	defer stopSlow()
	defer stopQuick()
	const pages, page = 4, subscriberBuffer/2 + 1
	read := func(ch <-chan *Published, from, to int64) {
		t.Helper()
		for id := from; id < to; id++ {
			if e, ok := <-ch; !ok || e.ID != id {
				t.Fatalf("got %v (open: %t), want event %d", e, ok, id)
			}
		}
	}
	id := int64(0)
	for range pages {
		events := make([]event.Event, page)
		for i := range events {
			events[i].ID = id + int64(i)
		}
		h.publish(events)
		read(quick, id, id+page)
		id += page
	}
	read(slow, 0, subscriberBuffer)
	select {
	case e, ok := <-slow:
		if ok {
			t.Errorf("event %d came after a gap", e.ID)
		}
	default:
		t.Error("a subscriber that fell behind is not told so")
	}
}
