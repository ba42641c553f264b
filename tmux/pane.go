package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PaneInfo is tmux's description of a pane.
type PaneInfo struct {
	Ref
	PID            int  // process id of the program that tmux started in the pane
	Dead           bool // the program has ended; tmux keeps the pane with its screen and status
	DeadStatus     *int // the program's exit code; nil if it did not exit or tmux does not know the code
	DeadSignal     *int // the signal that ended the program; nil if none did or tmux (before 3.3) does not know it
	InMode         bool // the pane is in a mode of tmux, such as scrolling; Paste and Keys leave the mode first
	Title          string
	Session        string
	Mark           string // Spec.Mark, as Spawn got it
	CurrentCommand string // name of the foreground program, as tmux guesses it
	Width, Height  int
}

// paneFormat prints one line per pane. The program in a pane controls only the last two fields. printable replaces
// their control characters, so that a line stays one line.
var paneFormat = strings.Join([]string{
	"#{pid}", "#{start_time}", "#{pane_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}",
	"#{pane_dead_signal}", "#{pane_in_mode}", "#{pane_width}", "#{pane_height}", "#{session_name}",
	printable("@understudy"), printable("pane_title"), printable("pane_current_command"),
}, "\t")

const paneFields = 14

func printable(field string) string { return "#{s/[\x01-\x1f]/?/:" + field + "}" }

// List returns the panes of our own server, each one time. If there is no server, the list is empty. Calls that come
// while another list is being read share the next list.
func (s *Server) List(ctx context.Context) ([]PaneInfo, error) {
	list, err := s.lists.ask(ctx, struct{}{})
	return slices.Clone(list), err
}

// list gives all callers the same list.
func (s *Server) list(ctx context.Context, all []*question[struct{}, []PaneInfo]) {
	list, err := s.panes(ctx)
	for _, q := range all {
		q.result, q.err = list, err
	}
}

func (s *Server) panes(ctx context.Context) ([]PaneInfo, error) {
	// Without any session, list-panes would fail with "no current target".
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{
		{"if-shell", "-F", "#{S:1}", "list-panes -a -F '" + paneFormat + "'"},
	}})
	if errors.Is(err, ErrNoServer) {
		return []PaneInfo{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parsePanes(s.socket, out), nil
}

// Inspect returns tmux's description of one pane, or ErrGone. If the pane's server is gone, the error is both ErrGone
// and ErrNoServer, even if another server answers on the socket. Only Inspect accepts a Ref without ServerStart; its
// answer has the complete Ref.
//
// tmux sometimes misses the end of a child and notices it only when the next child ends (6 to 20 % of exits with
// Debian's 3.3a). If a dead pane has no status, Inspect therefore makes tmux run another child and looks again.
func (s *Server) Inspect(ctx context.Context, ref Ref) (PaneInfo, error) {
	known := ref
	if known.ServerStart == 0 {
		known.ServerStart = 1
	}
	if err := known.Check(); err != nil {
		return PaneInfo{}, err
	}
	display := []string{"display-message", "-p", "-t", ref.Pane, paneFormat}
	pane, err := s.inspect(ctx, ref, display)
	if err == nil && pane.Dead && pane.DeadStatus == nil && pane.DeadSignal == nil {
		pane, err = s.inspect(ctx, ref, []string{"run-shell", "true"}, display)
	}
	return pane, err
}

func (s *Server) inspect(ctx context.Context, ref Ref, cmds ...[]string) (PaneInfo, error) {
	out, err := s.run(ctx, call{socket: ref.Socket, server: ref.ServerPID, again: true, cmds: cmds})
	if errors.Is(err, ErrNoServer) {
		return PaneInfo{}, fmt.Errorf("pane %s: %w: %w", ref, ErrGone, err)
	}
	if err != nil {
		return PaneInfo{}, fmt.Errorf("pane %s: %w", ref, err)
	}
	for _, pane := range parsePanes(ref.Socket, out) {
		if pane.Pane == ref.Pane && pane.ServerPID == ref.ServerPID &&
			(ref.ServerStart == 0 || pane.ServerStart == ref.ServerStart) {
			return pane, nil
		}
	}
	// tmux prints a line even for a pane that is gone. The line begins with the process id of the server that answered.
	if answered, _, ok := strings.Cut(out, "\t"); ok && answered != strconv.Itoa(ref.ServerPID) {
		return PaneInfo{}, fmt.Errorf("pane %s: %w: %w", ref, ErrGone, ErrNoServer)
	}
	return PaneInfo{}, fmt.Errorf("pane %s: %w", ref, ErrGone)
}

// parsePanes reads lines of paneFormat. A pane that is linked into several sessions has several lines, but parsePanes
// returns it one time. It skips the line that display-message prints for a pane that is gone.
func parsePanes(socket, out string) []PaneInfo {
	panes := []PaneInfo{}
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		pane, ok := parsePane(strings.TrimSuffix(line, "\n"))
		if ok && !seen[pane.Pane] {
			seen[pane.Pane] = true
			pane.Socket = socket
			panes = append(panes, pane)
		}
	}
	return panes
}

func parsePane(line string) (PaneInfo, bool) {
	f := strings.SplitN(line, "\t", paneFields)
	if len(f) != paneFields || checkPane(f[2]) != nil {
		return PaneInfo{}, false
	}
	var err error
	number := func(field string) int {
		n, e := strconv.Atoi(field)
		err = errors.Join(err, e)
		return n
	}
	pane := PaneInfo{
		Ref:            Ref{ServerPID: number(f[0]), ServerStart: int64(number(f[1])), Pane: f[2]},
		PID:            number(f[3]),
		Dead:           f[4] == "1",
		DeadStatus:     optional(f[5]),
		DeadSignal:     optional(f[6]),
		InMode:         f[7] != "" && f[7] != "0",
		Width:          number(f[8]),
		Height:         number(f[9]),
		Session:        f[10],
		Mark:           f[11],
		Title:          f[12],
		CurrentCommand: f[13],
	}
	return pane, err == nil
}

func optional(field string) *int {
	n, err := strconv.Atoi(field)
	if err != nil {
		return nil
	}
	return &n
}
