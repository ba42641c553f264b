//go:build !linux

package db

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing: there is no such limit. Keepalives and the probes of [watch] remain.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
