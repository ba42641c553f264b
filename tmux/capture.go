package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Capture returns the screens of panes, by pane id, without the empty lines at the end of each screen. If lines is 0,
// it returns the visible screen. Otherwise it returns the last lines of the screen and its history, lines of them.
// With ansi the text contains its colours. The map lacks a pane that is gone or whose server was replaced. For a dead
// pane it has the last screen, often without the text that the program printed just before its end (seen with tmux 3.3a).
//
// One tmux command reads all panes of a server, up to about 65 panes; for more panes several commands run. Refs of
// different servers must not have the same pane id.
func (s *Server) Capture(ctx context.Context, lines int, ansi bool, refs ...Ref) (map[string]string, error) {
	if lines < 0 {
		return nil, fmt.Errorf("screen of %d lines: want 0 or more", lines)
	}
	for _, ref := range refs {
		if err := ref.Check(); err != nil {
			return nil, err
		}
	}
	show := "capture-pane -p"
	if ansi {
		show += " -e"
	}
	if lines > 0 {
		show += " -S -" + strconv.Itoa(lines)
	}
	screens := make(map[string]string, len(refs))
	for of, refs := range byServer(refs) {
		views, err := s.views(ctx, of, show, refs)
		if err != nil {
			return nil, err
		}
		for ref, view := range views {
			screens[ref.Pane] = tail(view.Screen, lines)
		}
	}
	return screens, nil
}

// serverID identifies a server, as a [Ref] does.
type serverID struct {
	socket string
	pid    int
}

func byServer(refs []Ref) map[serverID][]Ref {
	all := map[serverID][]Ref{}
	for _, ref := range refs {
		of := serverID{ref.Socket, ref.ServerPID}
		all[of] = append(all[of], ref)
	}
	return all
}

// views reads panes of one server with show, a tmux command that prints a screen. The map lacks panes that are gone.
//
// It asks first as if all panes exist, and only if tmux refuses that, tests each: the server of tmux 3.3a keeps about 1 kB
// for ever of each if-shell (measured), and panes are read all day.
func (s *Server) views(ctx context.Context, of serverID, show string, refs []Ref) (map[Ref]View, error) {
	views := make(map[Ref]View, len(refs))
	for len(refs) > 0 {
		c, n := captureCall(of, show, refs, false)
		out, err := s.run(ctx, c.call)
		if _, ok := errors.AsType[complaint](err); ok {
			c, n = captureCall(of, show, refs, true)
			out, err = s.run(ctx, c.call)
		}
		if err != nil && !errors.Is(err, ErrNoServer) {
			return nil, err
		}
		c.read(out, refs[:n], views)
		refs = refs[n:]
	}
	return views, nil
}

// capture is a call that prints fence, a random word, before each screen. read splits the output at the lines that begin
// with fence. The program in a pane cannot imitate such a line, because it does not know the word.
type capture struct {
	call
	fence string
}

// captureCall returns one call that reads the first n of refs, and n. All refs are of one server. n is as large as
// maxArgs allows. If guarded is false, the call fails if one of the panes is gone.
func captureCall(of serverID, show string, refs []Ref, guarded bool) (capture, int) {
	fence := rand.Text()
	c := capture{call{socket: of.socket, server: of.pid, again: true, cmds: [][]string{{"display-message", "-p", "#{pid} #{start_time}"}}}, fence}
	total := size(c.args(c.socket))
	for i, ref := range refs {
		head := []string{"display-message", "-p", "-t", ref.Pane, fence + " #{pane_id} " + printable("pane_current_command") + "\t" + printable("pane_title")}
		screen := append(strings.Fields(show), "-t", ref.Pane)
		cmds := [][]string{head, screen}
		if guarded { // test whether the pane exists: otherwise the error for a pane that is gone would end the whole list
			cmds = [][]string{{"if-shell", "-F", "-t", ref.Pane, "#{==:#{pane_id}," + ref.Pane + "}",
				"display-message -p -t " + ref.Pane + " '" + head[4] + "' ; " + strings.Join(screen, " ")}}
		}
		more := 0
		for _, cmd := range cmds {
			more += size(cmd) + 2
		}
		if total += more; total > maxArgs && i > 0 {
			return c, i
		}
		c.cmds = append(c.cmds, cmds...)
	}
	return c, len(refs)
}

// read adds the screens in out to views. It skips refs of another server than the one that answered.
func (c capture) read(out string, refs []Ref, views map[Ref]View) {
	server, out, _ := strings.Cut(out, "\n")
	found := map[string]View{}
	for i, part := range strings.Split("\n"+out, "\n"+c.fence+" ") {
		if head, screen, ok := strings.Cut(part, "\n"); ok && i > 0 {
			pane, head, _ := strings.Cut(head, " ")
			command, title, _ := strings.Cut(head, "\t")
			found[pane] = View{Screen: strings.TrimRight(screen, "\n"), Command: command, Title: title}
		}
	}
	for _, ref := range refs {
		view, ok := found[ref.Pane]
		if ok && server == fmt.Sprintf("%d %d", ref.ServerPID, ref.ServerStart) {
			views[ref] = view
		}
	}
}

// tail returns the last n lines of text, or all of it if n is 0.
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
