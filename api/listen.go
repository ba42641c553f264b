package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// PublicFlag is the flag of `serve` that allows listening beyond loopback.
const PublicFlag = "--listen-public"

const dialTimeout = 2 * time.Second

// ErrServed says that another process answers at a socket.
var ErrServed = errors.New("already served by another process")

// maxSocketPath is the longest path of a unix socket, in bytes.
func maxSocketPath() int {
	if runtime.GOOS == "darwin" {
		return 103
	}
	return 107
}

// ListenUnix listens on a unix socket that only its owner can reach. It removes the socket of a killed daemon, which nobody
// serves. It returns [ErrServed] if somebody serves a socket at the path, and another error for any other file there.
func ListenUnix(path string) (net.Listener, error) {
	if len(path) > maxSocketPath() {
		return nil, fmt.Errorf("socket %s: its path has %d bytes and the system takes %d: choose a shorter data directory", path, len(path), maxSocketPath())
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

// private keeps other users from a socket from its first moment on: Linux gives the file the mode of the socket. On other
// systems the folder must keep them out for a moment. A umask would do it too, but it holds for the whole process, and so
// for files that other goroutines make at the same time.
func private(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}

// clearSocket removes a socket that nobody serves.
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
	if !errors.Is(err, syscall.ECONNREFUSED) { // we may not connect, or the server is too busy to answer
		return fmt.Errorf("cannot tell whether it is served: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ListenTCP listens on addr, host:port. It refuses an address beyond loopback unless allowPublic is set, because clients of
// this API type into shells, and send the token unencrypted.
func ListenTCP(ctx context.Context, addr string, allowPublic bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen address %q must be host:port, as in 127.0.0.1:7433", addr)
	}
	ip := net.IPv6unspecified
	if host != "" {
		// The name is resolved once, so that the server listens on the address that was checked.
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
