// Package tmux owns the way to a terminal: it starts panes on a tmux server, types text and keys
// into them, reads their screens, and knows when their processes are gone. It knows nothing about
// agents.
//
// Every action is one run of the tmux command, with its commands chained by ";", so that what has
// to be atomic is one pass of the server's event loop. There is no connection to keep: a daemon
// that is killed leaves nothing behind but, at worst, a paste buffer that nobody pasted, and a
// tmux server that is restarted needs no reconnecting.
//
// # Panes
//
// A pane is addressed by a [Ref] and by nothing else: the socket, the server's process id and
// start time, and tmux's own %id. Names are never targets, because tmux matches them by prefix:
// text for "p1", when p1 is gone, is typed into "p10". Ids are unique within one server and start
// at %0 again in the next, so every command that types carries a guard in its own command list
// that compares all of them, and checks that the pane is not dead. The second matters most:
// paste-buffer into a dead pane ends tmux 3.3a and older, and every program in it.
//
// # Ordering and concurrency
//
// A [Server] is safe for concurrent use. It runs at most six commands at a time, of looks and of lists one
// each: what is asked for meanwhile goes together into the next one. It has no lock
// per pane: a caller that needs a paste and the keys after it to stay together sends them in one
// [Server.Paste], or orders its own calls.
//
// # What success means
//
// A nil error from [Server.Paste] or [Server.Keys] means that tmux has queued the bytes for the
// program, not that the program has read them, and less that it has done anything with them. What
// the program does is for the program to confirm.
//
// [ErrGone], [ErrDead], [ErrOnce], [ErrChanged] and [ErrMissing] mean that nothing was typed. After any other error, such
// as a deadline, it is unknown whether the bytes arrived; typing again would be a guess.
package tmux
