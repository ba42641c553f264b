package permissions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon"
)

// hookComes is how long an answer waits for the hook that it is for. The permission's row is committed before its hook
// waits, and the hook comes back a fraction of a second after a daemon was replaced.
const hookComes = 3 * time.Second

// held is what the daemon remembers of the hooks that it holds for permissions. It is safe for concurrent use. A daemon that
// restarts reads the open permissions from their rows.
type held struct {
	mu       sync.Mutex
	rows     map[int64]heldRow         // by the permission's id
	expected map[int64][]chan struct{} // by the permission's id; each is closed when a hook waits for it
}

// heldRow is one open permission.
type heldRow struct {
	hooks int                   // how many hooks wait for it
	since time.Time             // hooks is 0 since then
	wake  map[chan struct{}]any // of those hooks
}

// join notes that a hook waits for a permission, until leave is called. wake gets a value when the permission was answered.
func (h *held) join(id int64, now func() time.Time) (wake chan struct{}, leave func()) {
	wake = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows == nil {
		h.rows = map[int64]heldRow{}
	}
	row := h.rows[id]
	if row.wake == nil {
		row.wake = map[chan struct{}]any{}
	}
	row.hooks, row.wake[wake] = row.hooks+1, nil
	h.rows[id] = row
	for _, came := range h.expected[id] {
		close(came)
	}
	delete(h.expected, id)
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if row, ok := h.rows[id]; ok {
			delete(row.wake, wake)
			row.hooks, row.since = row.hooks-1, now()
			h.rows[id] = row
		}
	}
}

// note remembers an open permission without a hook: one whose hook is about to wait, or one that a daemon that restarts finds.
func (h *held) note(p *daemon.Permission, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows == nil {
		h.rows = map[int64]heldRow{}
	}
	if _, ok := h.rows[p.ID]; !ok {
		h.rows[p.ID] = heldRow{since: now}
	}
}

// waits reports whether a hook waits for a permission.
func (h *held) waits(id int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows[id].hooks > 0
}

// awaitHook waits until a hook waits for a permission, at most so long or until ctx ends.
func (h *held) awaitHook(ctx context.Context, id int64, within time.Duration) {
	h.mu.Lock()
	if h.rows[id].hooks > 0 {
		h.mu.Unlock()
		return
	}
	if h.expected == nil {
		h.expected = map[int64][]chan struct{}{}
	}
	came := make(chan struct{})
	h.expected[id] = append(h.expected[id], came)
	h.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-came:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.expected[id] = slices.DeleteFunc(h.expected[id], func(c chan struct{}) bool { return c == came }); len(h.expected[id]) == 0 {
		delete(h.expected, id)
	}
}

// tell wakes the hooks that wait for a permission.
func (h *held) tell(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range h.rows[id].wake {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// forget drops a permission that has ended.
func (h *held) forget(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.rows, id)
}

// left returns the permissions for which no hook waits, with the time since when.
func (h *held) left() map[int64]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[int64]time.Time{}
	for id, row := range h.rows {
		if row.hooks == 0 {
			out[id] = row.since
		}
	}
	return out
}
