package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Line is what the status line of our own server says about a pane to the people who look at it.
type Line struct {
	Ref   Ref
	Who   string // who runs in the pane
	State string // what it does
	Tone  Tone   // how the state stands out
}

// Tone is how the state in a [Line] stands out.
type Tone string

// The tones. Each is a style of tmux.
const (
	Plain   Tone = ""
	Working Tone = "fg=green"
	Calls   Tone = "fg=black,bg=yellow" // a person is needed
)

// The options of a pane that hold its Line.
const (
	whoOption   = "@understudy_who"
	stateOption = "@understudy_state"
	toneOption  = "@understudy_tone"
)

// statusLine configures the status line of our own server. It shows the options of the pane that the client looks at. tmux does
// not expand the value of an option that a format names, so no "#(…)" in the name of an agent is run. A narrow terminal gets
// less of the state, so that there is room for how to leave.
var statusLine = [][]string{
	{"set-option", "-g", "status-interval", "0"}, // draw it when an option has changed, and not by the clock
	{"set-option", "-g", "status-style", "fg=default,bg=default,reverse"},
	{"set-option", "-g", "status-left-length", "1000"},
	{"set-option", "-g", "status-left", " #[bold]#{" + whoOption + "}#[nobold]  #{?" + toneOption + ",#[noreverse]#[#{" + toneOption + "}],} " +
		"#{?#{e|<:#{client_width},90},#{=/22/…:" + stateOption + "},#{?#{e|<:#{client_width},130},#{=/40/…:" + stateOption + "},#{=/90/…:" + stateOption + "}}} #[default]"},
	{"set-option", "-g", "status-right-length", "40"},
	{"set-option", "-g", "status-right", " #{prefix}#{?#{m/r:^(tmux|screen),#{client_termname}}, (#{prefix}),} d leaves "},
	{"set-option", "-gw", "window-status-format", ""},
	{"set-option", "-gw", "window-status-current-format", ""},
	{"set-option", "-g", "status", "on"},
}

// ShowLines notes lines on panes of our own server, for its status line: those of the panes that a client looks at, and those
// of the panes in always. It returns the lines that it has noted. A redraw of all clients follows each note, so note only what
// has changed. If there is no server, ShowLines returns nothing.
func (s *Server) ShowLines(ctx context.Context, lines []Line, always ...Ref) (shown []Line, err error) {
	var watched map[Ref]bool
	if len(lines) > len(always) {
		watched, err = s.watched(ctx)
		if errors.Is(err, ErrNoServer) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("clients: %w", err)
		}
	}
	for _, l := range lines {
		if err := l.Ref.Check(); err != nil {
			return shown, err
		}
		if !watched[l.Ref] && !slices.Contains(always, l.Ref) {
			continue
		}
		if !s.started.Load() { // a server of an earlier daemon, which may be of another version
			if err := s.Start(ctx); err != nil {
				return shown, err
			}
		}
		err := s.setOptions(ctx, l.Ref, whoOption, shownText(l.Who), stateOption, shownText(l.State), toneOption, string(l.Tone))
		switch {
		case err == nil:
			shown = append(shown, l)
		case !errors.Is(err, ErrGone):
			return shown, err
		}
	}
	return shown, nil
}

// watched returns the panes of our own server that a client looks at.
func (s *Server) watched(ctx context.Context) (map[Ref]bool, error) {
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{{"list-clients", "-F", "#{pid}\t#{start_time}\t#{pane_id}"}}})
	if err != nil {
		return nil, err
	}
	panes := map[Ref]bool{}
	for line := range strings.Lines(out) {
		ref := Ref{Socket: s.socket}
		if _, err := fmt.Sscanf(line, "%d\t%d\t%s", &ref.ServerPID, &ref.ServerStart, &ref.Pane); err == nil {
			panes[ref] = true
		}
	}
	return panes, nil
}

// shownText returns a text as the value of an option that a status line shows as it is. tmux draws the value, so a number sign
// in it could begin a style. Control characters become blanks.
func shownText(text string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text), "#", "##")
}
