package tmux

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// Sight is what somebody saw in a pane who is about to type there. tmux compares it with the pane in the
// pass of its event loop that types; what is empty is not compared.
type Sight struct {
	Command string // name of the program in the foreground of the pane's terminal, as tmux tells it
	Row     string // a whole row of the screen
}

// View is what a pane shows and runs.
type View struct {
	Screen  string
	Command string // as in [Sight]
}

// Look returns what a pane shows and runs, or ErrGone. Looks that are asked for while others are under way go
// together into one run of tmux.
func (s *Server) Look(ctx context.Context, ref Ref) (View, error) {
	if err := ref.check(); err != nil {
		return View{}, err
	}
	view, err := s.looks.ask(ctx, ref)
	if err != nil {
		return View{}, fmt.Errorf("pane %s: %w", ref, err)
	}
	return view, nil
}

// look answers all looks that were asked for.
func (s *Server) look(ctx context.Context, all []*question[Ref, View]) {
	refs := make([]Ref, len(all))
	for i, q := range all {
		refs[i] = q.of
	}
	for of, refs := range byServer(refs) {
		views, err := s.views(ctx, of, "capture-pane -p", refs)
		for _, q := range all {
			if q.of.Socket != of.socket || q.of.ServerPID != of.pid {
				continue
			}
			view, shown := views[q.of]
			if q.result, q.err = view, err; err == nil && !shown {
				q.err = ErrGone
			}
		}
	}
}

// maxPattern is how much of a text is compared, in bytes. What is compared is part of a command line.
const maxPattern = 200

// pattern is a regular expression for a text in which only what means nothing in a format, a command or an
// expression stands for itself. All else may be anything. The prompt sign and the no-break space of a
// composer, and letters of any script, do stand for themselves.
func pattern(text string) string {
	var b strings.Builder
	hole := false
	for _, r := range text {
		plain := unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_/❯\u00a0", r)
		switch {
		case b.Len() > maxPattern:
			return b.String() + ".*"
		case plain:
			b.WriteRune(r)
		case !hole:
			b.WriteString(".*")
		}
		hole = !plain
	}
	return b.String()
}
