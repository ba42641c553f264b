//go:build e2e

package desktop

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// shown is one call of the notification service.
type shown struct {
	app, icon, title, message string
	urgency                   byte
	expires                   int32
}

// notifications is a notification service on a real bus.
type notifications struct {
	calls chan shown
	hold  chan struct{} // an answer waits until this is closed; nil: none waits
}

// Notify is org.freedesktop.Notifications.Notify.
func (n *notifications) Notify(app string, _ uint32, icon, title, message string, _ []string, hints map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	urgency, _ := hints["urgency"].Value().(byte)
	n.calls <- shown{app, icon, title, message, urgency, expires}
	if n.hold != nil {
		<-n.hold
	}
	return 1, nil
}

// serviceOn puts the notification service on the bus.
func serviceOn(t *testing.T, b cmdtest.SessionBus, n *notifications) {
	t.Helper()
	conn := wardentest.Value(dbus.Connect(b.Address))(t)
	t.Cleanup(func() { _ = conn.Close() })
	wardentest.Must(t, conn.Export(n, "/org/freedesktop/Notifications", cmdtest.NotificationService))
	wardentest.Value(conn.RequestName(cmdtest.NotificationService, dbus.NameFlagDoNotQueue))(t)
}

// TestDesktop shows notifications on a real D-Bus. An urgent one never expires.
func TestDesktop(t *testing.T) {
	t.Parallel()
	const message = "an ‹agent› ＆ more[31m next: `understudy agent attach 7`."
	for name, tt := range map[string]struct {
		urgent bool
		want   shown
	}{
		"urgent": {true, shown{"understudy", "dialog-error", "title ‹b›", message, 2, 0}},
		"not":    {false, shown{"understudy", "dialog-information", "title ‹b›", message, 1, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := cmdtest.StartBus(t)
			service := &notifications{calls: make(chan shown, 1)}
			serviceOn(t, b, service)
			n := desktopOf(t, b.Address)
			n.limit = 10 * time.Second
			if channel, err := n.Notify(t.Context(), tell.Notification{Title: "--title <b>", Message: cmdtest.Hostile, Urgent: tt.urgent}); channel != "desktop" || err != nil {
				t.Fatalf("told by %s, %v; want the desktop", channel, err)
			}
			wardentest.Equal(t, "the service got", <-service.calls, tt.want)
		})
	}
}

// TestDesktopHangs: the first notification gives up, those after it do not even wait, and when the
// service answers again so do they.
func TestDesktopHangs(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(t *testing.T, b cmdtest.SessionBus) (heal func()){
		"service": func(t *testing.T, b cmdtest.SessionBus) func() {
			service := &notifications{calls: make(chan shown, 10), hold: make(chan struct{})}
			serviceOn(t, b, service)
			return func() { close(service.hold) }
		},
		"bus": func(t *testing.T, b cmdtest.SessionBus) func() {
			serviceOn(t, b, &notifications{calls: make(chan shown, 10)})
			signal := func(s syscall.Signal) {
				if err := b.Process.Process.Signal(s); err != nil {
					t.Error(err)
				}
			}
			signal(syscall.SIGSTOP)
			return func() { signal(syscall.SIGCONT) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := cmdtest.StartBus(t)
			heal := hang(t, b)
			n := desktopOf(t, b.Address)
			n.limit, n.rest = 200*time.Millisecond, time.Hour
			wantLog(t, n, "no answer within 200ms")
			started := time.Now()
			wantLog(t, n, "hangs")
			if took := time.Since(started); took > n.limit/2 {
				t.Errorf("the second waited %s", took)
			}
			heal()
			n.limit, n.rest = 10*time.Second, 0
			if channel, err := n.Notify(t.Context(), tell.Notification{Title: "a"}); channel != "desktop" || err != nil {
				t.Errorf("when it answers again: %s, %v; want desktop", channel, err)
			}
			n.rest = time.Hour
			if channel, err := n.Notify(t.Context(), tell.Notification{Title: "a"}); channel != "desktop" || err != nil {
				t.Errorf("after an answer: %s, %v; want desktop", channel, err)
			}
		})
	}
}

// TestNobodyOnTheBus: a session bus without a notification service, and a daemon that stops.
func TestNobodyOnTheBus(t *testing.T) {
	t.Parallel()
	wantLog(t, desktopOf(t, cmdtest.StartBus(t).Address), "desktop notification: ")
	cut, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("the daemon stops"))
	if channel, err := desktopOf(t, cmdtest.StartBus(t).Address).Notify(cut, tell.Notification{}); channel != "log" || err == nil || !strings.Contains(err.Error(), "the daemon stops") {
		t.Errorf("cut off: %s, %v", channel, err)
	}
}
