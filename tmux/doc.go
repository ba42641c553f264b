// Package tmux owns the access to terminals: it starts panes on a tmux server, types text and keys
// into them, reads their screens, and reports when their processes have ended. It knows nothing about
// agents.
//
// # Ordering and concurrency
//
// A [Server] is safe for concurrent use. It runs at most six tmux commands at the same time. Calls of
// [Server.Look] that come while another Look runs share the next tmux command, as do calls of
// [Server.List]. A Server has no lock per pane: a caller that must keep a paste and its keys together
// sends them in one [Server.Paste], or orders its own calls.
//
// # What a crash leaves
//
// A Server keeps no connection to tmux: it runs the tmux command for each action, and for some several
// times. Commands that must be atomic stand in one list, chained by ";", which the tmux server executes in
// one pass of its event loop. A daemon that is killed leaves, at worst, a paste buffer that was not pasted.
// Nothing needs to reconnect to a tmux server that was restarted.
//
// # Panes
//
// Only a [Ref] addresses a pane: the socket, the server's process id and start time, and tmux's own id of
// the pane, such as %5. A name is never the target of typed text, because tmux matches names by prefix: text
// for "p1" would be typed into "p10" when p1 is gone. Ids are unique within one server but start at %0
// again in the next one. So every command that types has a guard in its own command list. The guard
// compares all parts of the Ref and checks that the pane is not dead. The second check matters most,
// because paste-buffer into a dead pane ends tmux 3.3a and older, with every program in it.
//
// # What success means
//
// A nil error from [Server.Paste] or [Server.Keys] means that tmux has queued the bytes for the
// program. It does not mean that the program has read them or acted on them; only the program itself
// can confirm that.
//
// [ErrGone], [ErrDead], [ErrOnce], [ErrChanged] and [ErrMissing] mean that nothing was typed. After any
// other error, such as a deadline, it is unknown whether tmux typed the bytes, so typing them again would
// be a guess.
package tmux
