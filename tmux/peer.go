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

// Peer is the process at the other end of a unix socket: the process that connected, or the process that
// listens. The operating system reports it, so the process cannot lie.
type Peer struct {
	Process
	UID int // user id under which it runs
}

const (
	// lookTimeout limits one check of who listens on a socket, including the wait for a slot.
	lookTimeout = time.Second
	// maxLooks limits how many such checks run at once.
	maxLooks = 4
)

var lookSlots = make(chan struct{}, maxLooks)

// PeerOf returns the process at the other end of a unix socket. If that process is in a PID namespace that
// this process cannot see, its process id is 0. If it has ended, the error is ErrNoProcess.
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

// ServerAt returns the process that listens on a socket. It does not check which program that process runs. If no
// process listens, the error is ErrNoServer.
func ServerAt(ctx context.Context, socket string) (Peer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("the listener on %s could not be checked within %v: %w", socket, lookTimeout, context.DeadlineExceeded))
	defer cancel()
	select {
	case lookSlots <- struct{}{}:
		defer func() { <-lookSlots }()
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
	if errors.Is(err, ErrNoProcess) { // the process that called listen has ended
		return peer, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return peer, err
}

// RunsTmux says whether a process runs the tmux command, as a server or as a client of one.
func (p Process) RunsTmux() bool { return runs(p.PID, "tmux") == nil }

// wrongProcess says why a process is not the expected tmux server.
type wrongProcess string

func (s wrongProcess) Error() string { return string(s) }

// checkServer returns nil if peer, the process that listens on a socket, has the process id pid (0: any), and
// runs our tmux program bin, as our user and in our namespaces. For any other process it returns [ErrNoServer]:
// a tmux client must not connect to it, because a client obeys its server, even if the server tells it to run a
// program. Other errors mean that the process could not be checked this time.
func checkServer(peer Peer, pid int, bin string) error {
	err := peer.SharesNamespaces("pid", "user", "mnt")
	switch {
	case pid != 0 && peer.PID != pid:
		err = wrongProcess(fmt.Sprintf("process %d listens there, not process %d", peer.PID, pid))
	case peer.UID != os.Geteuid():
		err = wrongProcess(fmt.Sprintf("process %d listens there, of user %d", peer.PID, peer.UID))
	case err == nil:
		err = runs(peer.PID, bin)
	}
	_, wrong := errors.AsType[wrongProcess](err)
	if wrong || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return err
}

// runs returns nil if a process runs the program bin. When a newer package is installed, the file of a running tmux
// server is deleted. runs recognises such a server by the path that its file had. That is safe if the process shares our
// mount namespace: only somebody who may write to the folder of bin can have put a file there.
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
	return wrongProcess(fmt.Sprintf("process %d runs %s, not %s", pid, name, path))
}

// deleted is what Linux appends to the path of a program whose file was deleted.
const deleted = " (deleted)"
