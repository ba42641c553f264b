package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The size of a window while clients are attached.
//
// A window of our own server has a fixed size. While a client types in the window, the window's size follows the newest
// client that types: otherwise that client would see only the upper left corner of a program that hides the cursor.
// When the last client that types has left, the window gets its own size back. A client that only watches must not
// change the size. tmux would follow it if it is the only client, so the size is fixed while it watches.
//
// The flags of a client show whether it is ours: a client that types has [TypingFlags], and a client that watches has
// [LookingFlags]. The window's option @understudy-size keeps the window's previous policy (window-size) and size. So any
// [Server.Settle] can restore them, even after the client that changed them was killed.

// TypingFlags are the flags of a client that types, for attach-session -f.
const TypingFlags = "active-pane"

// LookingFlags are the flags of a client that watches and changes no size.
const LookingFlags = TypingFlags + ",ignore-size"

const sizeOption = "@understudy-size"

// Fit returns the commands that make the size of a pane's window follow the newest client that types. Put them after
// the command that attaches a client that types, in the same list.
func Fit(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)), {"set-option", "-w", "-t", pane, "window-size", "latest"}}
}

// Hold returns the commands that fix the size of a pane's window, unless the size follows a client that types. Put them
// before the command that attaches a client that watches, in the same list.
func Hold(pane string) [][]string {
	return [][]string{ifNew(pane, noteSize(pane)+" ; set-option -w -t "+pane+" window-size manual")}
}

// ifNew returns a command that runs list if noteSize has not noted the window's size.
func ifNew(pane, list string) []string {
	return []string{"if-shell", "-F", "-t", pane, "#{?#{" + sizeOption + "},,1}", list}
}

func noteSize(pane string) string {
	return "set-option -wF -t " + pane + " " + sizeOption + ` "#{window-size} #{window_width} #{window_height}"`
}

// sized is a window whose size Fit or Hold has changed or fixed.
type sized struct {
	id            string
	policy        string // the value of window-size that noteSize noted
	width, height string // the size that noteSize noted
	typing        bool   // a client of ours types in the window
	clients       int    // how many clients show the window
	looking       bool   // a client of ours watches the window
}

// Settle restores the size of each window in which no client types any more. The program that attached a client calls
// Settle after the client has detached. If there is no server, Settle returns nil.
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
		// Do nothing if the number of clients has changed: a client has come or left meanwhile, and the Settle after it
		// has detached restores the size.
		still := fmt.Sprintf("#{==:#{window_active_clients},%d}", w.clients)
		back := call{socket: s.socket, cmds: [][]string{{"if-shell", "-F", "-t", w.id, still, w.back(inherited)}}}
		if _, err := s.run(ctx, back); err != nil && !errors.Is(err, ErrNoServer) {
			return fmt.Errorf("size of window %s: %w", w.id, err)
		}
	}
	return nil
}

// back returns the command list that restores a window's size. If no client watches the window, the list also restores
// the policy. inherited is the server's global window-size.
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
	out, err := s.run(ctx, call{socket: s.socket, again: true, cmds: [][]string{
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

// sizePolicies are the values of window-size. sizedWindows checks the policy in @understudy-size against them, because
// any program may write that option.
var sizePolicies = map[string]bool{"manual": true, "latest": true, "smallest": true, "largest": true}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// clientRole finds out from a client's flags whether it is a client of ours that types, or one that watches.
func clientRole(flags string) (typing, looking bool) {
	has := func(flag string) bool { return strings.Contains(","+flags+",", ","+flag+",") }
	ours := has(TypingFlags)
	return ours && !has("ignore-size"), ours && has("ignore-size")
}
