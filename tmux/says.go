package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// SaysOption is the user option of a pane that says who goes on with the work that was done there; see [Server.Say].
const SaysOption = "@understudy_says"

const saysByOption = "@understudy_says_by"

// Say notes a text on a pane, which may be of a person's own server, in the option [SaysOption]. tmux shows it where the
// person's status line or pane border names the option, and forgets it with the pane. Nothing is typed, and nothing else of
// the pane or the server changes. by is what Unsay must name to remove the text. ErrGone means that the pane is gone.
func (s *Server) Say(ctx context.Context, ref Ref, by int64, text string) error {
	return s.setOptions(ctx, ref, saysByOption, strconv.FormatInt(by, 10), SaysOption, shownText(text))
}

// setOptions sets user options of a pane, which are names and values in turn. The values are arguments of their own: they are
// never part of a command. A server knows each pane's id once, and run refuses a person's server with another process id. On
// our own server, a caller has read the pane's server just before.
func (s *Server) setOptions(ctx context.Context, ref Ref, pairs ...string) error {
	if err := ref.Check(); err != nil {
		return err
	}
	var cmds [][]string
	for i := 0; i < len(pairs); i += 2 {
		cmds = append(cmds, []string{"set-option", "-p", "-t", ref.Pane, "--", pairs[i], pairs[i+1]})
	}
	_, err := s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: cmds})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNoServer), strings.Contains(err.Error(), "no such pane"), strings.Contains(err.Error(), "can't find pane"):
		return fmt.Errorf("pane %s: %w", ref, ErrGone)
	}
	return fmt.Errorf("pane %s: %w", ref, err)
}

// Unsay removes what Say has noted on a pane, if that was said with the same by. If by is 0, it removes whatever was said.
func (s *Server) Unsay(ctx context.Context, ref Ref, by int64) error {
	if err := ref.Check(); err != nil {
		return err
	}
	same := "1"
	if by != 0 {
		same = "#{==:#{" + saysByOption + "}," + strconv.FormatInt(by, 10) + "}"
	}
	_, err := s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{{
		"if-shell", "-F", "-t", ref.Pane, guard(ref, same),
		"set-option -pu -t " + ref.Pane + " " + SaysOption + " ; set-option -pu -t " + ref.Pane + " " + saysByOption,
	}}})
	if err != nil && !errors.Is(err, ErrNoServer) {
		return fmt.Errorf("pane %s: %w", ref, err)
	}
	return nil
}
