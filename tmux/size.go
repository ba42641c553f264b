package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The size of a window while clients are attached.
//
// A window of our own server has a fixed size. While a client types in it, its size follows the newest
// such client: otherwise the client would see only the upper left corner of a program that hides the
// cursor. When the last such client has left, the window gets its own size back. A client that looks on
// changes no size. If it is the only client, tmux would let it, so the size is fixed meanwhile.
//
// The flags of a client show whether it is ours: one that types has [TypingFlags], one that looks on also
// has ignore-size. The window's option @understudy-size keeps its policy and size from before, so that any
// [Server.Settle] can restore them, even after the client that changed them was killed.

// TypingFlags are the flags of a client that types, for attach-session -f.
const TypingFlags = "active-pane"

// LookingFlags are the flags of a client that looks on and changes no size.
const LookingFlags = TypingFlags + ",ignore-size"

const sizeOption = "@understudy-size"

// Fit makes the window of a pane follow the clients that type. Put it after the command that attaches
// such a client, in the same list.
func Fit(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)), {"set-option", "-w", "-t", pane, "window-size", "latest"}}
}

// Hold fixes the size of a pane's window, unless it follows a client that types. Put it before the
// command that attaches a client that looks on, in the same list.
func Hold(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)+" ; set-option -w -t "+pane+" window-size manual")}
}

// ifNew runs a list if the window has no noted size.
func ifNew(pane, list string) []string {
	return []string{"if-shell", "-F", "-t", pane, "#{?#{" + sizeOption + "},,1}", list}
}

func noteSize(pane string) string {
	return "set-option -wF -t " + pane + " " + sizeOption + ` "#{window-size} #{window_width} #{window_height}"`
}

// sized is a window whose size follows clients or is fixed for them.
type sized struct {
	id            string
	policy        string // its window-size before
	width, height string // its size before
	typing        bool   // a client of ours types in it
	clients       int    // how many clients show it
	looking       bool   // a client of ours looks on
}

// Settle restores the size of each window in which no client types any more. A client's program calls it
// after the client has detached. If there is no server, that is no error.
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
		// If the number of clients has changed, a client came meanwhile, and will restore the size itself.
		still := fmt.Sprintf("#{==:#{window_active_clients},%d}", w.clients)
		back := call{socket: s.socket, cmds: [][]string{{"if-shell", "-F", "-t", w.id, still, w.back(inherited)}}}
		if _, err := s.run(ctx, back); err != nil && !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("size of window %s: %w", w.id, err)
		}
	}
	return nil
}

// back returns the command list that restores a window's size, and its policy too if no client looks on
// any more. inherited is the server's global window-size.
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

// sizedWindows lists the windows that have the option, with their clients, and returns the global window-size.
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
		case len(f) == 4 && sizePolicies[f[1]] && isNumber(f[2]) && isNumber(f[3]):
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

// sizePolicies are the values of window-size. The option is checked against them, because any program may write it.
var sizePolicies = map[string]bool{"manual": true, "latest": true, "smallest": true, "largest": true}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// clientRole reads from a client's flags whether it is one of ours that types or looks on.
func clientRole(flags string) (typing, looking bool) {
	has := func(flag string) bool { return strings.Contains(","+flags+",", ","+flag+",") }
	ours := has(TypingFlags)
	return ours && !has("ignore-size"), ours && has("ignore-size")
}
