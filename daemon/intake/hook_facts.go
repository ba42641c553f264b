package intake

import (
	"cmp"
	"context"
	"errors"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/personas"
	"github.com/understudyd/understudy/tmux"
)

// lookFor answers a question. proc is the process that the hook comes from.
func lookFor(ctx context.Context, d *Daemon, proc tmux.Process, q engine.Question) (a engine.Answer) {
	switch {
	case q.Content != "":
		a.Yes = d.HasContent(ctx, q.Content)
	case q.Real != "":
		a.Path = d.RealPath(ctx, q.Real)
	case q.Move != engine.Move{}:
		a.Yes = d.LookAt(ctx, q.Move.To, func() bool { return sight.LeadsElsewhere(q.Move) })
	case q.Within != 0:
		a.Yes = d.Within(proc, q.Within)
	case q.Answered != 0:
		a.At = sight.AnsweredAt(d.Sight, q.Answered)
	default:
		var err error
		if a.Persona, err = d.Personas.Get(cmp.Or(q.Persona, q.Rules)); err != nil && !errors.Is(err, personas.ErrNotFound) {
			d.Log.Warn("the persona of an agent could not be read: the operator's settings hold", "persona", cmp.Or(q.Persona, q.Rules), "error", err)
		}
	}
	return a
}
