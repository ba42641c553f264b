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

// dial connects to a unix socket. Package net can do so as well, but a program that is linked with
// it is linked with the C library too, where there is a C compiler, and takes half as long again to
// start.
func dial(ctx context.Context, socket string) (*os.File, error) {
	if ctx.Err() != nil { // a connect that does not wait would not look, and what is spooled be sent as well
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
	return os.NewFile(uintptr(fd), socket), nil // of what does not block, it keeps deadlines
}

func newSocket() (int, error) {
	syscall.ForkLock.RLock() // no child gets it
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}

// connect waits while the daemon has as many callers waiting as the kernel keeps for it.
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
