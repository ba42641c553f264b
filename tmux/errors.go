package tmux

import "errors"

var (
	// ErrMissing means that there is no tmux command.
	ErrMissing = errors.New("tmux is not installed or not in PATH; `understudy doctor --fix` installs it")
	// ErrTooOld means that the tmux command is older than this package supports.
	ErrTooOld = errors.New("tmux 3.2 or newer is needed; `understudy doctor --fix` installs it")
	// ErrNoServer means that no tmux server answers on the socket.
	ErrNoServer = errors.New("no tmux server is running there")
	// ErrLost means that the server ended before it answered, so it is not known whether it ran the commands.
	ErrLost = errors.New("the tmux server ended before it answered")
	// ErrExists means that a session of that name exists already. An interrupted Spawn may have left it: List
	// shows the pane's mark.
	ErrExists = errors.New("the session exists already")
	// ErrDead means that the pane's program has ended; tmux still shows the pane.
	ErrDead = errors.New("the program in the pane has ended")
	// ErrGone means that the pane or its server no longer exists.
	ErrGone = errors.New("the pane no longer exists")
	// ErrOnce means that an earlier paste with the same Once was typed. This call typed nothing.
	ErrOnce = errors.New("the text was typed before")
	// ErrChanged means that the pane's screen or program is no longer the one in the caller's Sight. Nothing was
	// typed.
	ErrChanged = errors.New("the pane has changed since it was looked at")
	// ErrNoProcess means that the process has ended, or that its id now belongs to another process.
	ErrNoProcess = errors.New("no such process")
)
