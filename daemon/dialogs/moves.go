package dialogs

import (
	"time"

	"github.com/understudyd/understudy/tmux"
)

// moves is how a selection follows the arrow keys.
type moves struct {
	first time.Time // the first look
	at    int       // what was selected at the last look
	since time.Time // since when
	keyAt time.Time // when the last arrow key was pressed whose effect is not seen; zero: there is none
	lost  bool      // the effect of a key was not seen in time: it may still come
}

// next returns the key that is to be pressed now; 0: none yet. The first key waits until the CLI hears it. Another arrow key follows only when the effect of the last one is
// seen, or when that seems to be lost. Enter never follows a key that may still move the selection.
func (mv *moves) next(at, want int, now time.Time) tmux.Key {
	if mv.first.IsZero() {
		mv.first = now
	}
	if mv.since.IsZero() || at != mv.at {
		mv.at, mv.since, mv.keyAt = at, now, time.Time{}
	}
	if now.Sub(mv.first) < dialogStands {
		return 0
	}
	if !mv.keyAt.IsZero() {
		if now.Sub(mv.keyAt) < keyLost {
			return 0
		}
		mv.keyAt, mv.lost = time.Time{}, true
	}
	switch {
	case at < want:
		return tmux.Down
	case at > want:
		return tmux.Up
	case mv.lost && now.Sub(mv.since) < keySettles:
		return 0
	}
	return tmux.Enter
}

func (mv *moves) pressed(now time.Time) { mv.keyAt = now }
