package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The size of a window, while somebody is attached.
//
// A window of our own server has a fixed size. While a client types in it, its size follows the newest
// such client: programs that hide the cursor would otherwise be seen by their upper left corner alone.
// When the last such client has left, the window has its size back. A client that looks on changes no
// size; tmux would let it do so where it is the only one, so the size is fixed for as long.
//
// Which clients of a window are ours is told by their flags: one that types has [TypingFlags], one that
// looks on has ignore-size as well. What a window had before stands in its option @understudy-size, so
// that any [Server.Settle] can give it back, whoever has died meanwhile.

// TypingFlags are those of a client that types, for attach-session -f.
const TypingFlags = "active-pane"

// LookingFlags are those of a client that changes no size.
const LookingFlags = TypingFlags + ",ignore-size"

const sizeOption = "@understudy-size"

// Fit has the window of a pane follow the clients that type. It belongs behind the command that attaches
// one, in the same list.
func Fit(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)), {"set-option", "-w", "-t", pane, "window-size", "latest"}}
}

// Hold fixes the size of a pane's window, unless it follows somebody who types. It belongs before the
// command that attaches a client that looks on, in the same list.
func Hold(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)+" ; set-option -w -t "+pane+" window-size manual")}
}

// ifNew runs a list if nothing is noted on the window.
func ifNew(pane, list string) []string {
	return []string{"if-shell", "-F", "-t", pane, "#{?#{" + sizeOption + "},,1}", list}
}

func noteSize(pane string) string {
	return "set-option -wF -t " + pane + " " + sizeOption + ` "#{window-size} #{window_width} #{window_height}"`
}

// sized is a window whose size follows clients or is held for them.
type sized struct {
	id            string
	policy        string // its window-size before
	width, height string // and how large it was
	typing        bool   // somebody types in it
	clients       int    // that show it
	looking       bool   // somebody looks on
}

// Settle gives the windows of the server their sizes back that nobody types in any more. Whoever was
// attached calls it after leaving. That there is no server is no error.
func (s *Server) Settle(ctx context.Context) error {
	windows, inherited, err := s.sizedWindows(ctx)
	if errors.Is(err, ErrNoServer) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sizes of windows: %w", err)
	}
	for _, w := range windows {
		if w.typing {
			continue
		}
		// A client that has come since will give the size back itself.
		still := fmt.Sprintf("#{==:#{window_active_clients},%d}", w.clients)
		back := call{socket: s.socket, cmds: [][]string{{"if-shell", "-F", "-t", w.id, still, w.back(inherited)}}}
		if _, err := s.run(ctx, back); err != nil && !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("size of window %s: %w", w.id, err)
		}
	}
	return nil
}

// back is the command list that gives a window its size, and, when nobody looks on any more, what decides
// on it. Inherited is the server's own window-size.
func (w *sized) back(inherited string) string {
	var list []string
	if w.policy == "manual" { // resize-window fixes the size as well
		list = append(list, fmt.Sprintf("resize-window -t %s -x %s -y %s", w.id, w.width, w.height))
	}
	switch {
	case w.looking:
		return strings.Join(append(list, "set-option -w -t "+w.id+" window-size manual"), " ; ")
	case w.policy == inherited:
		list = append(list, "set-option -wu -t "+w.id+" window-size")
	case w.policy != "manual":
		list = append(list, "set-option -w -t "+w.id+" window-size "+w.policy)
	}
	return strings.Join(append(list, "set-option -wu -t "+w.id+" "+sizeOption), " ; ")
}

// sizedWindows lists the windows that have the option, with the clients that show them.
func (s *Server) sizedWindows(ctx context.Context) (map[string]*sized, string, error) {
	out, err := s.run(ctx, call{socket: s.socket, cmds: [][]string{
		{"show-options", "-gwv", "window-size"},
		{"if-shell", "-F", "#{S:1}", "list-windows -a -F '#{window_id} #{" + sizeOption + "}' ; list-clients -F 'client #{window_id} #{client_flags}'"},
	}})
	if err != nil {
		return nil, "", err
	}
	inherited, rest, _ := strings.Cut(out, "\n")
	windows := map[string]*sized{}
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		switch {
		case len(f) == 4 && known[f[1]] && isNumber(f[2]) && isNumber(f[3]):
			windows[f[0]] = &sized{id: f[0], policy: f[1], width: f[2], height: f[3]}
		case len(f) == 3 && f[0] == "client" && windows[f[1]] != nil:
			w := windows[f[1]]
			w.clients++
			typing, looking := clientRole(f[2])
			w.typing, w.looking = w.typing || typing, w.looking || looking
		}
	}
	return windows, inherited, nil
}

// known are the values of window-size; any program may write to the option.
var known = map[string]bool{"manual": true, "latest": true, "smallest": true, "largest": true}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// clientRole tells from a client's flags whether it is one of ours, and which.
func clientRole(flags string) (typing, looking bool) {
	has := func(flag string) bool { return strings.Contains(","+flags+",", ","+flag+",") }
	ours := has(TypingFlags)
	return ours && !has("ignore-size"), ours && has("ignore-size")
}
