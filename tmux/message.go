package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shownFor is how long ShowMessage shows a text, in milliseconds. Up to tmux 3.5 a client draws nothing of its pane meanwhile, and
// all of it afterwards.
const shownFor = "2000"

// ShowMessage shows a text in the status line of each client that looks at a pane, for two seconds or until its person presses
// a key. tmux cuts off what does not fit into the line. Nothing is typed into the pane, whatever runs there. ShowMessage returns how many
// clients show the text; 0 is no error. ref may be of another server than ours. If that server is gone, the error is
// ErrNoServer.
func (s *Server) ShowMessage(ctx context.Context, ref Ref, text string) (shown int, err error) {
	if err := ref.Check(); err != nil {
		return 0, err
	}
	const format = "#{pid}\t#{start_time}\t#{pane_id}\t#{client_name}"
	out, err := s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, again: true, cmds: [][]string{{"list-clients", "-F", format}}})
	if err != nil {
		return 0, fmt.Errorf("clients at pane %s: %w", ref, err)
	}
	of := strings.Join([]string{strconv.Itoa(ref.ServerPID), strconv.FormatInt(ref.ServerStart, 10), ref.Pane, ""}, "\t")
	var failed []error
	for line := range strings.Lines(out) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), of)
		if !ok || name == "" {
			continue
		}
		_, err := s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, cmds: [][]string{
			{"display-message", "-c", name, "-d", shownFor, literal(text)},
		}})
		if err != nil { // the client may have left
			failed = append(failed, fmt.Errorf("client %s at pane %s: %w", name, ref, err))
			continue
		}
		shown++
	}
	return shown, errors.Join(failed...)
}

// literal returns a text that tmux shows as it is: formats begin with a number sign, and parts of a date with a percent
// sign. Control characters become blanks.
func literal(text string) string {
	return strings.ReplaceAll(shownText(text), "%", "%%")
}
