package desktop

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// desktopOf is the desktop whose session bus has this address.
func desktopOf(t *testing.T, address string) *Desktop {
	t.Helper()
	return New(true, func(name string) string {
		return map[string]string{"DBUS_SESSION_BUS_ADDRESS": address}[name]
	}, cmdtest.MainProgram(t))
}

// wantLog fails unless a notification is told by the log, with a reason.
func wantLog(t *testing.T, n *Desktop, why string) {
	t.Helper()
	channel, err := n.Notify(t.Context(), tell.Notification{Title: "a", Message: "b"})
	if channel != "log" || err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("told by %s, %v; want the log, for %q", channel, err, why)
	}
}

// TestDesktopTakesTurns: those that come while one is being shown wait for it, and none of them takes
// that for a desktop that hangs.
func TestDesktopTakesTurns(t *testing.T) {
	t.Parallel()
	n := desktopOf(t, "unix:path=none")
	n.limit = cmdtest.Eventually
	var mu sync.Mutex
	atOnce, most := 0, 0
	n.show = func(context.Context, tell.Notification) error {
		mu.Lock()
		atOnce++
		most = max(most, atOnce)
		mu.Unlock()
		defer func() {
			mu.Lock()
			atOnce--
			mu.Unlock()
		}()
		return nil
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if channel, err := n.Notify(t.Context(), tell.Notification{}); channel != "desktop" || err != nil {
				t.Errorf("told by %s, %v; want the desktop", channel, err)
			}
		})
	}
	wg.Wait()
	wardentest.Equal(t, "shown at once", most, 1)
}

func TestNoDesktop(t *testing.T) {
	t.Parallel()
	off := New(false, cmdtest.NoEnv, "")
	off.show = func(context.Context, tell.Notification) error {
		t.Error("shown although switched off")
		return nil
	}
	if channel, err := off.Notify(t.Context(), tell.Notification{Title: "a"}); channel != "log" || err != nil {
		t.Errorf("switched off: %s, %v; want the log without an error", channel, err)
	}
	wantLog(t, desktopOf(t, "unix:path="+t.TempDir()+"/none"), "desktop notification: ")
	wantLog(t, desktopOf(t, "nonsense"), "desktop notification: ")
}
