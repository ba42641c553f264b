package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gen2brain/beeep"
)

// notifyLimit is how long a notification may take. beeep has no time-out of its own; with a
// notification service that hangs, a call never returns (measured).
const notifyLimit = 2 * time.Second

// desktop shows notifications on the operator's desktop. At most one call is under way; while it
// hangs, all others fail at once.
type desktop struct {
	enabled bool
	getenv  func(string) string
	limit   time.Duration // notifyLimit; shorter in tests
	busy    chan struct{} // holds one token
	show    func(title, message string) error
}

// nameApp sets beeep's one global variable; tests make many daemons in one process.
var nameApp = sync.OnceFunc(func() { beeep.AppName = "understudy" })

func newDesktop(enabled bool, getenv func(string) string) *desktop {
	nameApp()
	return &desktop{enabled: enabled, getenv: getenv, limit: notifyLimit, busy: make(chan struct{}, 1), show: func(title, message string) error {
		return beeep.Notify(title, message, "") // a nil icon is an error
	}}
}

// Notify implements daemon.Notifier. Without a desktop, or when it does not answer, the channel is
// "log": the daemon has written the alert there.
func (n *desktop) Notify(ctx context.Context, title, message string) (channel string, err error) {
	if !n.enabled {
		return "log", nil
	}
	if why := n.absent(); why != "" {
		return "log", errors.New(why)
	}
	select {
	case n.busy <- struct{}{}:
	default:
		return "log", errors.New("the desktop's notification service hangs")
	}
	done := make(chan error, 1)
	go func() { // may outlive the call: nothing can end a hanging beeep
		done <- n.show(clean(title, 80), clean(message, 300))
		<-n.busy
	}()
	timer := time.NewTimer(n.limit)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return "log", fmt.Errorf("desktop notification: %w", err)
		}
		return "desktop", nil
	case <-timer.C:
		return "log", fmt.Errorf("desktop notification: no answer within %s", n.limit)
	case <-ctx.Done():
		return "log", context.Cause(ctx)
	}
}

// absent says why there is no desktop. Without a session bus godbus would start one of its own,
// which outlives us.
func (n *desktop) absent() string {
	if runtime.GOOS != "linux" || n.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return ""
	}
	bus := filepath.Join("/run/user", strconv.Itoa(os.Geteuid()), "bus")
	if _, err := os.Stat(bus); err != nil {
		return "there is no desktop session (no DBUS_SESSION_BUS_ADDRESS and no " + bus + ")"
	}
	return ""
}

// clean makes a text safe for every notification service: one line, no markup, no option.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit-1]) + "…"
	}
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	return strings.TrimLeft(s, "- ")
}
