package db

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout limits how long sent data may stay unacknowledged before the connection fails.
func setUserTimeout(conn syscall.RawConn, limit time.Duration) error {
	var failed error
	err := conn.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
	return errors.Join(err, failed)
}
