package dialogs

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"

	"github.com/understudyd/understudy/tmux"
)

// TestMovesWaitForTheirEffect: the first key waits until the dialog has stood for a while; a key follows another one when the effect of that is seen or seems to be lost, and Enter never follows
// a key that may still move the selection.
func TestMovesWaitForTheirEffect(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var mv moves
	for i, look := range []struct {
		after time.Duration
		at    int
		want  tmux.Key
	}{
		{-dialogStands, 0, 0}, // the CLI may not hear yet
		{-dialogStands / 2, 0, 0},
		{0, 0, tmux.Down},
		{25 * time.Millisecond, 0, 0},
		{50 * time.Millisecond, 1, tmux.Down}, // it has moved
		{75 * time.Millisecond, 1, 0},
		{time.Second, 1, tmux.Down}, // the key seems to be lost
		{1100 * time.Millisecond, 2, 0},
		{1200 * time.Millisecond, 2, 0}, // it came late, and so may the other one
		{1300 * time.Millisecond, 3, tmux.Up},
		{1400 * time.Millisecond, 2, 0},
		{2500 * time.Millisecond, 2, tmux.Enter},
	} {
		got := mv.next(look.at, 2, begin.Add(look.after))
		equal(t, fmt.Sprint("look ", i, ": key"), got, look.want)
		if got != 0 && got != tmux.Enter {
			mv.pressed(begin.Add(look.after))
		}
	}
	var at moves
	equal(t, "Enter at the first look", at.next(1, 1, begin), tmux.Key(0))
	equal(t, "it is selected already", at.next(1, 1, begin.Add(dialogStands)), tmux.Enter)
}

var equal = wardentest.Equal
