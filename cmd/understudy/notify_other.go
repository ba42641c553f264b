//go:build !linux

package main

import (
	"context"
	"sync"

	"github.com/gen2brain/beeep"

	"github.com/understudyd/understudy/daemon"
)

// nameApp sets beeep's one global variable; tests make many daemons in one process.
var nameApp = sync.OnceFunc(func() { beeep.AppName = "understudy" })

// showOnDesktop shows a message through what the system has. Nothing ends it when it hangs. An urgent
// one looks like any other: beeep would ring a bell on standard output with it.
func (n *desktop) showOnDesktop(_ context.Context, m daemon.Notification) error {
	nameApp()
	return beeep.Notify(m.Title, m.Message, "") // a nil icon is an error
}

// absent says why there is no desktop; here there is always one.
func (n *desktop) absent() string { return "" }
