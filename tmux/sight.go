package tmux

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// Sight is the state of a pane that a caller saw before it types there. tmux compares it with the pane in
// the same pass of its event loop in which it types. It does not compare empty fields.
type Sight struct {
	Command string // name of the foreground program of the pane's terminal, as tmux reports it
	Row     string // a complete row; any row of the screen may match it
	// Mark is the mark that Spawn or Respawn has given the pane; a-z, 0-9 and -. If the pane has another, the error is ErrGone:
	// another program has taken the place of the one that was seen.
	Mark string
}

// View is the screen and the program of a pane.
type View struct {
	Screen  string
	Command string // as in [Sight]
	Title   string // of the pane, as its program set it
}

// Look returns the screen and the program of a pane, or ErrGone. Calls that come while another Look runs
// share the next run of tmux.
func (s *Server) Look(ctx context.Context, ref Ref) (View, error) {
	if err := ref.Check(); err != nil {
		return View{}, err
	}
	view, err := s.looks.ask(ctx, ref)
	if err != nil {
		return View{}, fmt.Errorf("pane %s: %w", ref, err)
	}
	return view, nil
}

// look answers all waiting callers of Look.
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

// maxPattern is how many bytes of a text tmux compares. It is limited because the pattern is part of a command line.
const maxPattern = 200

// pattern returns a regular expression that matches a text. It keeps the characters that have no special meaning in a
// tmux format, a tmux command or an expression: letters and digits of any script, some signs, the marks of a chosen row, and
// the no-break space of a composer. It replaces each run of other characters by ".*".
func pattern(text string) string {
	var b strings.Builder
	hole := false
	for _, r := range text {
		plain := unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_/❯›●\u00a0", r)
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
