package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Peer is the process at the other end of a unix socket, as the system and not the process itself
// tells it: who connected, or who listens.
type Peer struct {
	Process
	UID int // in whose name it runs
}

const (
	// lookTimeout bounds one look at who listens on a socket, with the wait for its turn.
	lookTimeout = time.Second
	// maxLooks bounds the looks that go on at once.
	maxLooks = 4
)

var looks = make(chan struct{}, maxLooks)

// PeerOf returns who is at the other end of a unix socket. The process id is 0 if the peer is in a PID
// namespace that is not seen here. A peer that has ended is ErrNoProcess.
func PeerOf(conn net.Conn) (Peer, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("connection from %v is no unix socket", conn.RemoteAddr())
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("peer: %w", err)
	}
	var pid, uid int
	var credErr error
	if err := raw.Control(func(fd uintptr) { pid, uid, credErr = peerCredentials(int(fd)) }); err != nil {
		return Peer{}, fmt.Errorf("peer: %w", err)
	}
	if credErr != nil {
		return Peer{}, fmt.Errorf("peer: %w", credErr)
	}
	if pid == 0 {
		return Peer{UID: uid}, nil
	}
	proc, err := FindProcess(pid)
	if err != nil {
		return Peer{}, fmt.Errorf("peer: %w", err)
	}
	return Peer{Process: proc, UID: uid}, nil
}

// ServerAt returns the process that listens on a socket, whatever program it is.
func ServerAt(ctx context.Context, socket string) (Peer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("%s could not be looked at within %v: %w", socket, lookTimeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case looks <- struct{}{}:
		defer func() { <-looks }()
	case <-ctx.Done():
		return Peer{}, context.Cause(ctx)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return Peer{}, fmt.Errorf("%w: %w", ErrNoServer, err)
	case ctx.Err() != nil:
		return Peer{}, context.Cause(ctx)
	case err != nil:
		return Peer{}, err
	}
	defer conn.Close()
	peer, err := PeerOf(conn)
	if errors.Is(err, ErrNoProcess) { // who called listen has ended
		return peer, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return peer, err
}

// RunsTmux says whether a process runs the tmux command, as a server or as a client of one.
func (p Process) RunsTmux() bool { return runs(p.PID, "tmux") == nil }

// stranger says why a process is not the one that is meant.
type stranger string

func (s stranger) Error() string { return string(s) }

// checkServer returns nil if a process that listens on a socket is the tmux server with the process id
// pid (0: any), runs our tmux program bin, in our name and in our namespaces. Everything else is no server
// of anybody's, [ErrNoServer]: a tmux client does what its server says, and runs a program if that is it.
// Any other error means that the process could not be looked at this time.
func checkServer(peer Peer, pid int, bin string) error {
	err := peer.SharesNamespaces("pid", "user", "mnt")
	switch {
	case pid != 0 && peer.PID != pid:
		err = stranger(fmt.Sprintf("process %d listens there, not process %d", peer.PID, pid))
	case peer.UID != os.Geteuid():
		err = stranger(fmt.Sprintf("process %d listens there, of user %d", peer.PID, peer.UID))
	case err == nil:
		err = runs(peer.PID, bin)
	}
	_, strange := errors.AsType[stranger](err)
	if strange || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return err
}

// runs returns nil if a process runs the program bin. A process that outlived the program's file, as a
// tmux server does when a newer package is installed, is known by the path that the file had: with the
// mount namespace ours, only who may write to its folder can have had a file there.
func runs(pid int, bin string) error {
	path, err := exec.LookPath(bin)
	if err != nil {
		return ErrMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return ErrMissing
	}
	ours, err := os.Stat(path)
	if err != nil {
		return ErrMissing
	}
	theirs, name, err := program(pid)
	switch {
	case err != nil:
		return err
	case theirs != nil && os.SameFile(ours, theirs), name == path+deleted:
		return nil
	}
	return stranger(fmt.Sprintf("process %d runs %s, not %s", pid, name, path))
}

// deleted ends the name of a program whose file is gone, as Linux tells it.
const deleted = " (deleted)"
