//go:build !linux

package desktop

import "github.com/understudyd/understudy/daemon/tell"

func show(m tell.Notification) error { return byLibrary(m) }
