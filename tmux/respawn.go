package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Place is a pane of our own server whose program has ended, and in which another may be started.
type Place struct {
	Ref  Ref
	Mark string // the mark that Spawn or Respawn has given the pane; a-z, 0-9 and -
	// Close says that nobody may take the place from now on, if this call does not: a call that was interrupted before has
	// no effect either, even if tmux runs it later.
	Close bool
}

const closedOption = "@understudy_closed"

// Respawn starts a program in the pane of another that has ended, and gives the pane a new mark. Clients that look at the pane
// go on looking at it. tmux tests in the same pass that the pane's program has ended, and that the pane has the mark of the
// Place. So Respawn ends no program, and of several calls for one place only the first takes it. The pane keeps its size, and
// forgets its screen. Its session gets the name of the Spec.
//
// ErrGone: the pane no longer exists. ErrChanged: a program still runs in it, it has another mark, or the place is closed; with
// Close, it is closed now. It is also ErrChanged while a client in control mode is attached, because tmux may crash then
// (issue 5499 of tmux). After any other error the program may have been started: List shows the pane's mark.
func (s *Server) Respawn(ctx context.Context, at Place, spec Spec) (PaneInfo, error) {
	spec, err := spec.Checked()
	if err == nil {
		err = at.check()
	}
	if err != nil {
		return PaneInfo{}, err
	}
	if at.Ref.Socket != s.socket {
		return PaneInfo{}, fmt.Errorf("pane %s: it is not of our own server: %w", at.Ref, ErrGone)
	}
	clients, err := s.run(ctx, call{socket: s.socket, server: at.Ref.ServerPID, again: true, cmds: [][]string{{"list-clients", "-F", "#{client_control_mode}"}}})
	if errors.Is(err, ErrNoServer) {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, ErrGone)
	}
	if err != nil {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, err)
	}
	if strings.Contains(clients, "1") {
		spec.Argv = nil
	}
	out, err := s.run(ctx, call{socket: s.socket, server: at.Ref.ServerPID, cmds: at.commands(spec)})
	if errors.Is(err, ErrNoServer) {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, ErrGone)
	}
	if err != nil {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, err)
	}
	for _, p := range parsePanes(s.socket, out) {
		if p.Ref == at.Ref && p.Mark == spec.Mark {
			return p, nil
		}
	}
	if answer := strings.Fields(out); len(answer) == 3 && answer[0] == at.Ref.Pane && answer[1] == strconv.Itoa(at.Ref.ServerPID) && answer[2] == strconv.FormatInt(at.Ref.ServerStart, 10) {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, ErrChanged)
	}
	return PaneInfo{}, fmt.Errorf("pane %s: %w", at.Ref, ErrGone)
}

func (at Place) check() error {
	if err := at.Ref.Check(); err != nil {
		return err
	}
	if at.Mark == "" || !onceToken().MatchString(at.Mark) {
		return fmt.Errorf("pane %s: the mark %q must be of a-z, 0-9 and -", at.Ref, at.Mark)
	}
	return nil
}

// commands returns the list that takes the place. Without a program in the Spec, it takes nothing. In the list the pane gets its
// new mark right after the program was started: if tmux refuses the session's name later, the mark shows what was done.
func (at Place) commands(spec Spec) [][]string {
	target, same := at.Ref.Pane, marked(at.Mark)
	of := " -t " + target + " "
	var list [][]string
	if len(spec.Argv) > 0 {
		words := []string{"respawn-pane", "-t", target, "-c", strings.ReplaceAll(spec.Dir, "#", "##"), "--"}
		take := []string{
			quoted(append(words, spec.Argv...)...), quoted("set-option", "-p", "-t", target, "--", "@understudy", spec.Mark),
			"set-option -pu" + of + whoOption, "set-option -pu" + of + stateOption, "set-option -pu" + of + toneOption,
			"clear-history" + of, "rename-session" + of + spec.Session, "rename-window" + of + spec.Session, "display-message -p" + of + "'" + paneFormat + "'",
		}
		may := guard(at.Ref, "#{&&:#{pane_dead},#{&&:"+same+",#{==:#{"+closedOption+"},}}}")
		list = append(list, []string{"if-shell", "-F", "-t", target, may, strings.Join(take, " ; ")})
	}
	if at.Close {
		list = append(list, []string{"if-shell", "-F", "-t", target, guard(at.Ref, same), "set-option -p" + of + closedOption + " 1"})
	}
	return append(list, []string{"display-message", "-p", "-t", target, "#{pane_id} #{pid} #{start_time}"})
}

// quoted writes words as a part of a command that tmux parses. Between single quotes tmux takes each character as it is.
func quoted(words ...string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
	}
	return strings.Join(out, " ")
}
