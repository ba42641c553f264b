package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// lookFor answers a question. proc is the process that the hook comes from.
func lookFor(ctx context.Context, d *Daemon, proc tmux.Process, q question) (a answer) {
	switch {
	case q.content != "":
		a.yes = d.hasContent(ctx, q.content)
	case q.move != move{}:
		a.yes = d.lookAt(ctx, q.move.to, func() bool { return leadsElsewhere(q.move) })
	case q.within != 0:
		a.yes = d.Processes.Within(proc, q.within)
	case q.answered != 0:
		a.at = answeredAt(d.Sight, q.answered)
	default:
		var err error
		if a.persona, err = d.Personas.Get(cmp.Or(q.persona, q.rules)); err != nil && !errors.Is(err, personas.ErrNotFound) {
			d.Log.Warn("the persona of an agent could not be read: the operator's settings hold", "persona", cmp.Or(q.persona, q.rules), "error", err)
		}
	}
	return a
}
