package dialogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/deliveries"
	"github.com/understudyd/understudy/daemon/lane"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

const (
	// maxKeyItems is how many texts and keys one batch may have.
	maxKeyItems = 200
	// keysWait is how long a batch waits while the daemon itself types.
	keysWait = 2 * time.Second
	// ctrlCApart is the least time between two Ctrl-C. Runtimes take two within a second for the wish to end the agent.
	ctrlCApart = 2 * time.Second
	// pasteSized is how many bytes a program may take for a paste, so that an Enter in the same read becomes part of it.
	pasteSized = 40
	// pasteTaken is how long such a program needs until Enter submits.
	pasteTaken = 100 * time.Millisecond
)

// KeyItem is a text that is typed, or a key that is pressed.
type KeyItem struct {
	Text string `json:"text"`
	Key  string `json:"key"` // one of [KeyNames]
}

// keysAllowed are the keys that a browser may press. Ctrl-D and Ctrl-Z are not among them: they end or suspend an agent, which
// `agent stop` does better.
var keysAllowed = map[string]tmux.Key{
	"Enter": tmux.Enter, "Escape": tmux.Escape, "Tab": tmux.Tab, "BackTab": tmux.BackTab, "Backspace": tmux.Backspace, "Delete": tmux.Delete,
	"Up": tmux.Up, "Down": tmux.Down, "Left": tmux.Left, "Right": tmux.Right, "Home": tmux.Home, "End": tmux.End,
	"PageUp": tmux.PageUp, "PageDown": tmux.PageDown, "Ctrl-C": tmux.CtrlC,
}

// KeyNames returns the names of the keys that a browser may press.
func KeyNames() []string {
	names := make([]string, 0, len(keysAllowed))
	for name := range keysAllowed {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// KeyBatch is what a page has typed. Pages number their batches from 1 on.
type KeyBatch struct {
	Session string    `json:"session"`
	Seq     int       `json:"seq"`
	Items   []KeyItem `json:"keys"` // none: the page only says that it is open
}

// KeysTyped says what has become of a batch.
type KeysTyped struct {
	Seq      int  `json:"seq"`      // the newest batch that was taken
	Repeated bool `json:"repeated"` // this batch was taken before: it was not typed again
}

// keyBatch is a batch on its way through the lane.
type keyBatch struct {
	KeyBatch
	at   time.Time
	done chan struct{} // closed when err is decided
	err  error
}

func (b *keyBatch) settle(err error) {
	b.err = err
	close(b.done)
}

// TypeKeys types a batch of keys into the pane of an agent that takes keys. Batches are typed in the order of their numbers, each
// once: one that comes again gets the result of the first.
func (r *Room) TypeKeys(ctx context.Context, id int64, in KeyBatch) (KeysTyped, error) {
	if err := r.mayTakeKeys(ctx, id); err != nil {
		return KeysTyped{}, err
	}
	if err := checkKeys(in.Items); err != nil {
		return KeysTyped{}, err
	}
	var b *keyBatch
	repeated, err := false, error(nil)
	r.keys.with(id, func(s *keySession) {
		if s == nil || s.id != in.Session {
			err = errKeysOff(id)
			return
		}
		seq := 0
		if s.last != nil {
			seq = s.last.Seq
		}
		switch s.heard = time.Now(); {
		case len(in.Items) == 0:
		case in.Seq <= seq && in.Seq > 0:
			if repeated = true; in.Seq == seq {
				b = s.last
			}
		case in.Seq != seq+1 || s.due != nil:
			err = daemon.Errorf(daemon.KindConflict, daemon.CodeKeysOutOfOrder, "Batch %d of keys came after batch %d: nothing was typed", in.Seq, seq)
		default:
			b = &keyBatch{KeyBatch: in, at: time.Now(), done: make(chan struct{})}
			s.last, s.due, s.pressed = b, b, time.Now()
		}
	})
	if err != nil || b == nil {
		return KeysTyped{Seq: in.Seq, Repeated: repeated}, err
	}
	r.env.Wake(id)
	select {
	case <-b.done:
		return KeysTyped{Seq: in.Seq, Repeated: repeated}, b.err
	case <-ctx.Done():
		return KeysTyped{}, ctx.Err()
	}
}

// checkKeys refuses a batch with something that is neither a printable text nor a key that may be pressed.
func checkKeys(items []KeyItem) error {
	if len(items) > maxKeyItems {
		return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadKeys, "keys may have %d items at most", maxKeyItems)
	}
	for _, it := range items {
		switch _, known := keysAllowed[it.Key]; {
		case (it.Text == "") == (it.Key == ""):
			return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadKeys, "each of keys has either a text or a key")
		case it.Key != "" && !known:
			return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadKeys, "key must be one of %s", strings.Join(KeyNames(), ", "))
		case it.Text != "":
			if err := tmux.CheckTyped(it.Text); err != nil {
				return daemon.Errorf(daemon.KindInvalid, daemon.CodeBadKeys, "text can't be typed: %s", words.TrimDot(err.Error()))
			}
		}
	}
	return nil
}

// typeKeys types the keys that have come from a browser, in the agent's lane, so that they never mix with what the daemon itself
// types. It ends a session that is over.
func (r *Room) typeKeys(ctx context.Context, a *daemon.Agent) (bool, time.Duration, error) {
	var b *keyBatch
	r.keys.with(a.ID, func(s *keySession) {
		if s != nil && s.id == a.Keys.Session {
			b = s.due
		}
	})
	if b == nil || !a.Active() {
		why, again := r.keysOver(a)
		if why == "" {
			return false, again, nil
		}
		_, err := r.stopKeys(ctx, a.ID, a.Keys.Session, why)
		return true, 0, err
	}
	err := r.mayTypeKeys(ctx, a, b)
	var told *daemon.Error
	switch {
	case errors.As(err, &told) && told.Code == daemon.CodeKeysWait && time.Since(b.at) < keysWait:
		return false, dialogLooks, nil
	case err == nil:
		err = r.typeBatch(ctx, a, b)
	case !errors.As(err, &told) && ctx.Err() == nil:
		return false, 0, err
	}
	r.keys.with(a.ID, func(s *keySession) {
		if s != nil && s.due == b {
			s.due = nil
			b.settle(err)
		}
	})
	return false, time.Millisecond, nil // look at the session again; the row is as it was
}

// mayTypeKeys returns an error if keys must not be typed into an agent's pane now. A person's keys may go into a turn, a dialog or a draft, so
// it asks something else than [sight.PaneFacts].
func (r *Room) mayTypeKeys(ctx context.Context, a *daemon.Agent, b *keyBatch) error {
	switch {
	case daemon.BeingEnded(a):
		return daemon.Errorf(daemon.KindConflict, daemon.CodeAgentStopping, "Agent %d was asked to stop: nothing was typed", a.ID)
	case !r.env.InFront(a):
		return daemon.Errorf(daemon.KindConflict, daemon.CodeKeysWait, "The agent is not in the foreground of its pane: nothing was typed")
	}
	open, err := r.store.OpenDeliveries(ctx, a.ID)
	if err != nil {
		return err
	}
	for i := range open {
		dl := &open[i]
		byHand := dl.Way == "" || dl.Way == runtimes.ByTyping || dl.Way == runtimes.ByEcho
		if byHand && dl.TypedAt != nil && (dl.State == daemon.DeliveryTyping || dl.State == daemon.DeliveryTyped && r.env.TimeSpent(*dl.TypedAt) < deliveries.EntersWithin) {
			return daemon.Errorf(daemon.KindConflict, daemon.CodeKeysWait, "The daemon types a text into the pane: your keys were not typed; try again in a moment")
		}
	}
	if !slices.ContainsFunc(b.Items, func(it KeyItem) bool { return it.Key == "Ctrl-C" }) {
		return nil
	}
	again := false
	r.keys.with(a.ID, func(s *keySession) { again = s != nil && time.Since(s.ctrlC) < ctrlCApart })
	switch {
	case a.State != daemon.Working:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeBadKeys, "Ctrl-C interrupts a running turn, and agent %d runs none: it could end the agent. Nothing was typed; use Stop to end it", a.ID)
	case again:
		return daemon.Errorf(daemon.KindConflict, daemon.CodeBadKeys, "A second Ctrl-C within %s could end agent %d: nothing was typed; use Stop to end it", words.Took(ctrlCApart), a.ID)
	}
	return nil
}

// typeBatch types the items of a batch in order. Each is guarded by tmux: it goes to this agent's pane alone, and only while its
// program lives.
func (r *Room) typeBatch(ctx context.Context, a *daemon.Agent, b *keyBatch) error {
	term, err := r.env.TerminalOf(a)
	if err != nil {
		return err
	}
	long := false
	for i, it := range b.Items {
		n := 1
		if it.Text != "" {
			long, n = len(it.Text) >= pasteSized, utf8.RuneCountInString(it.Text)
			err = term.Type(ctx, a.Ref(), tmux.Sight{}, it.Text)
		} else {
			if long && !lane.Ticked(ctx, time.After(pasteTaken)) {
				return ctx.Err()
			}
			long = false
			err = term.Press(ctx, a.Ref(), tmux.Sight{}, keysAllowed[it.Key])
		}
		switch {
		case errors.Is(err, tmux.ErrGone), errors.Is(err, tmux.ErrDead):
			return daemon.Errorf(daemon.KindConflict, daemon.CodeKeysOff, "The agent's pane is gone: its program has ended")
		case err != nil:
			r.env.Log.Warn("keys of a browser not typed", "agent_id", a.ID, "item", i, "error", err)
			return &daemon.Error{Kind: daemon.KindUnavailable, Code: daemon.CodeTmuxUnavailable, Cause: err,
				Message: fmt.Sprintf("It is not known whether all of agent %d's keys were typed: look at its screen", a.ID)}
		}
		r.keys.with(a.ID, func(s *keySession) {
			if s != nil && s.last == b {
				if s.keys += n; it.Key == "Ctrl-C" {
					s.ctrlC = time.Now()
				}
			}
		})
	}
	return nil
}
