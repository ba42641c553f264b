package hooks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// dialTimeout is how long a daemon may take to accept a connection.
const dialTimeout = 100 * time.Millisecond

// dial connects to a unix socket. Package net could do so too, but where there is a C compiler it
// also links a program with the C library, and the program takes half as long again to start.
func dial(ctx context.Context, socket string) (*os.File, error) {
	if ctx.Err() != nil { // a connect that succeeds at once would ignore ctx, and an event could be both spooled and sent
		return nil, context.Cause(ctx)
	}
	fd, err := newSocket()
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := connect(ctx, fd, socket); err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("connect: %w", err)
	}
	return os.NewFile(uintptr(fd), socket), nil // a non-blocking file supports deadlines
}

func newSocket() (int, error) {
	syscall.ForkLock.RLock() // so that no child inherits the socket
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}

// connect waits, at most dialTimeout, while the kernel's queue of callers for the daemon is full.
func connect(ctx context.Context, fd int, socket string) error {
	limit := syscall.NsecToTimeval(int64(dialTimeout))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &limit); err != nil {
		return err
	}
	until := time.Now().Add(dialTimeout)
	for {
		err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket})
		switch {
		case err == nil:
			return syscall.SetNonblock(fd, true)
		case !errors.Is(err, syscall.EINTR) || time.Now().After(until):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}
