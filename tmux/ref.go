package tmux

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// MaxSocketPath returns the longest path of a unix socket, in bytes: the size of sun_path without its final NUL.
func MaxSocketPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// Ref names one pane of one run of one tmux server. It never names another pane, whereas a pane id alone may name
// another pane after a restart of the server.
type Ref struct {
	Socket      string // absolute path of the server's socket
	ServerPID   int    // the server's process id
	ServerStart int64  // when the server started, in seconds since 1970
	Pane        string // tmux's id of the pane, such as %5
}

// String returns the reference as socket,pid,start,%pane.
func (r Ref) String() string {
	return fmt.Sprintf("%s,%d,%d,%s", r.Socket, r.ServerPID, r.ServerStart, r.Pane)
}

// Check returns an error for a reference that no pane can have. Call it before any part of the reference gets into a
// command.
func (r Ref) Check() error {
	if err := checkSocket(r.Socket); err != nil {
		return fmt.Errorf("pane reference %q: %w", r, err)
	}
	if r.ServerPID <= 0 || r.ServerStart <= 0 {
		return fmt.Errorf("pane reference %q: the server's process id and start time are missing", r)
	}
	return checkPane(r.Pane)
}

func checkPane(pane string) error {
	if digits, ok := strings.CutPrefix(pane, "%"); ok {
		if n, err := strconv.ParseUint(digits, 10, 32); err == nil && strconv.FormatUint(n, 10) == digits {
			return nil
		}
	}
	return fmt.Errorf("pane id %q: want a percent sign and a number, such as %%5", pane)
}

// FromEnv parses the value of $TMUX, which tmux sets in every pane to socket,pid,session. The pane's id is in
// $TMUX_PANE. From both values [Server.Inspect] finds the complete Ref.
func FromEnv(tmuxEnv string) (socket string, serverPID int, ok bool) {
	rest, _, _ := cutLast(tmuxEnv) // drop the session's number: it changes when the pane is moved
	socket, pid, ok := cutLast(rest)
	if !ok || checkSocket(socket) != nil {
		return "", 0, false
	}
	serverPID, err := strconv.Atoi(pid)
	if err != nil || serverPID <= 0 {
		return "", 0, false
	}
	return socket, serverPID, true
}

// cutLast cuts at the last comma, because a path may contain commas.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ',')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

func checkSocket(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("tmux socket %q: the path must be absolute", path)
	case len(path) > MaxSocketPath():
		return fmt.Errorf("tmux socket %q: the path has %d bytes and the system allows %d; use a shorter data directory",
			path, len(path), MaxSocketPath())
	case strings.ContainsFunc(path, isControl):
		return fmt.Errorf("tmux socket %q: the path contains a control character", path)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
