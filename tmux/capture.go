package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Capture returns what panes show, by pane id, without the empty lines at the end. lines is how
// many lines from the end are wanted, history included; 0 means the visible screen. With ansi the
// text has its colours. A pane that is gone, or whose server is another one now, is absent; one
// that is dead shows its last screen, often without what its program printed just before it ended
// (seen with tmux 3.3a).
//
// All panes of a server are read by one command (by several from about 90 panes on). Refs of
// different servers must not have the same pane id.
func (s *Server) Capture(ctx context.Context, lines int, ansi bool, refs ...Ref) (map[string]string, error) {
	if lines < 0 {
		return nil, fmt.Errorf("screen of %d lines: want 0 or more", lines)
	}
	type server struct {
		socket string
		pid    int
	}
	byServer := map[server][]Ref{}
	for _, ref := range refs {
		if err := ref.check(); err != nil {
			return nil, err
		}
		of := server{ref.Socket, ref.ServerPID}
		byServer[of] = append(byServer[of], ref)
	}
	screens := make(map[string]string, len(refs))
	for _, refs := range byServer {
		for len(refs) > 0 {
			c, n := captureCall(lines, ansi, refs)
			out, err := s.run(ctx, c.call)
			if err != nil && !errors.Is(err, ErrNoServer) {
				return nil, err
			}
			c.read(out, lines, refs[:n], screens)
			refs = refs[n:]
		}
	}
	return screens, nil
}

// capture is a call whose output is cut at lines that begin with a word no pane can know.
type capture struct {
	call
	fence string
}

// captureCall returns the call for as many of refs, all of one server, as fit into one, and how many
// those are.
func captureCall(lines int, ansi bool, refs []Ref) (capture, int) {
	fence := rand.Text()
	show := "capture-pane -p"
	if ansi {
		show += " -e"
	}
	if lines > 0 {
		show += " -S -" + strconv.Itoa(lines)
	}
	c := capture{call{socket: refs[0].Socket, server: refs[0].ServerPID, cmds: [][]string{{"display-message", "-p", "#{pid} #{start_time}"}}}, fence}
	total := size(c.args(c.socket))
	for i, ref := range refs {
		cmd := []string{
			// A pane that is gone must not end the list for the others.
			"if-shell", "-F", "-t", ref.Pane, "#{==:#{pane_id}," + ref.Pane + "}",
			"display-message -p -t " + ref.Pane + " '" + fence + " #{pane_id}' ; " + show + " -t " + ref.Pane,
		}
		if total += size(cmd) + 2; total > maxArgs && i > 0 {
			return c, i
		}
		c.cmds = append(c.cmds, cmd)
	}
	return c, len(refs)
}

// read puts the screens of those refs that belong to the server which answered into screens.
func (c capture) read(out string, lines int, refs []Ref, screens map[string]string) {
	server, out, _ := strings.Cut(out, "\n")
	found := map[string]string{}
	for i, part := range strings.Split("\n"+out, "\n"+c.fence+" ") {
		if pane, screen, ok := strings.Cut(part, "\n"); ok && i > 0 {
			found[pane] = tail(strings.TrimRight(screen, "\n"), lines)
		}
	}
	for _, ref := range refs {
		screen, ok := found[ref.Pane]
		if ok && server == fmt.Sprintf("%d %d", ref.ServerPID, ref.ServerStart) {
			screens[ref.Pane] = screen
		}
	}
}

// tail returns the last n lines of text, or all of it for 0.
func tail(text string, n int) string {
	if n == 0 {
		return text
	}
	end := len(text)
	for range n {
		end = strings.LastIndexByte(text[:end], '\n')
		if end < 0 {
			return text
		}
	}
	return text[end+1:]
}
