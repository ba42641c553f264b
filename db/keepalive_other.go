//go:build !linux

package db

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing, because this system has no such limit. Keepalives and the probes of [watch] remain.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
