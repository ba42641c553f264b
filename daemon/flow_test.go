package daemon

import (
	"log/slog"
	"strings"
	"testing"
)

// TestMoveOutsideTheTableIsRefused: a move that is not in the table is an error, and nothing is written.
func TestMoveOutsideTheTableIsRefused(t *testing.T) {
	t.Parallel()
	d := New(Config{Host: "h", Store: &spoolStore{}, Log: slog.New(slog.DiscardHandler)})
	r := &handoffRun{d: d, ctx: t.Context(), h: &Handoff{ID: 7, Phase: Requested}, agent: &Agent{ID: 1}}
	if err := r.move(moveTo(Completed, "a mistake", Change{})); err == nil || !strings.Contains(err.Error(), "knows no move") {
		t.Errorf("got %v", err)
	}
}
