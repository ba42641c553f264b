package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/understudyd/understudy/tmux"
)

// PublicFlag is the flag of `serve` that allows listening beyond loopback.
const PublicFlag = "--listen-public"

const dialTimeout = 2 * time.Second

// ErrServed says that another process serves a socket.
var ErrServed = errors.New("already served by another process")

// ListenUnix listens on a unix socket that only its owner can reach. If there is a socket at the path that no process
// serves, such as that of a killed daemon, ListenUnix removes it. If a process serves that socket, the error is
// [ErrServed]. If there is any other file, ListenUnix returns another error.
func ListenUnix(path string) (net.Listener, error) {
	if len(path) > tmux.MaxSocketPath() {
		return nil, fmt.Errorf("socket %s: its path has %d bytes and the system takes %d: choose a shorter data directory", path, len(path), tmux.MaxSocketPath())
	}
	if err := clearSocket(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := (&net.ListenConfig{Control: private}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return l, nil
}

// private keeps other users from a socket from its first moment. It sets the mode before the socket is bound, because
// Linux gives the socket's file that mode. On other systems the folder must keep other users out for a moment. private
// does not set a umask: that holds for the whole process, so also for files that other goroutines make at the same time.
func private(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}

// clearSocket removes the socket at a path if no process serves it.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is something else at its path: move it away")
	}
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err == nil {
		return errors.Join(ErrServed, conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // leave the socket: we may not connect, or its server is too busy
		return fmt.Errorf("cannot tell whether it is served: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ListenTCP listens on addr, host:port. If allowPublic is false, it refuses an address that is not loopback, because
// clients of this API type into shells, and send the token unencrypted.
func ListenTCP(ctx context.Context, addr string, allowPublic bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen address %q must be host:port, as in 127.0.0.1:7433", addr)
	}
	ip := net.IPv6unspecified
	if host != "" {
		// Resolve the name only here, so that the server listens on the same address that is checked.
		ips, err := net.DefaultResolver.LookupIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("listen address %s: %w", addr, err)
		}
		ip = ips[0]
	}
	if !ip.IsLoopback() && !allowPublic {
		return nil, fmt.Errorf("%s can be reached from other machines, and this API types into shells: listen on 127.0.0.1, or add %s", addr, PublicFlag)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen address %s is in use: stop what listens there, or choose another with --listen", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("listen address %s: %w", addr, err)
	}
	return l, nil
}
