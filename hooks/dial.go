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

// dial connects to a unix socket. It does not use package net: on a machine with a C compiler, net links the program
// with the C library, and the program then takes 1.5 times as long to start.
func dial(ctx context.Context, socket string) (*os.File, error) {
	// Check ctx first: a connect that succeeds at once does not look at ctx, and the event could be both spooled and sent.
	if ctx.Err() != nil {
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

// connect connects fd to the socket. While the kernel's queue of connections to the daemon is full, it waits, at most
// dialTimeout.
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
