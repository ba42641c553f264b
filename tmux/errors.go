package tmux

import "errors"

var (
	// ErrMissing means that there is no tmux command.
	ErrMissing = errors.New("tmux is not installed or not in PATH; `understudy doctor --fix` installs it")
	// ErrTooOld means that the tmux command lacks what this package needs.
	ErrTooOld = errors.New("tmux 3.2 or newer is needed; `understudy doctor --fix` installs it")
	// ErrNoServer means that no tmux server answers on the socket.
	ErrNoServer = errors.New("no tmux server is running there")
	// ErrExists means that a session of that name exists already. List finds the pane that an
	// interrupted Spawn left, by its mark.
	ErrExists = errors.New("the session exists already")
	// ErrDead means that the pane's program has ended; tmux still shows the pane.
	ErrDead = errors.New("the program in the pane has ended")
	// ErrGone means that the pane, or the server it was on, no longer exists.
	ErrGone = errors.New("the pane no longer exists")
	// ErrOnce means that a paste with the same Once was typed before. Nothing was typed now.
	ErrOnce = errors.New("the text was typed before")
	// ErrChanged means that the pane no longer shows, or no longer runs, what the caller saw. Nothing
	// was typed.
	ErrChanged = errors.New("the pane has changed since it was looked at")
	// ErrNoProcess means that the process has ended, or that its id now belongs to another process.
	ErrNoProcess = errors.New("no such process")
)
