package main

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// shown is one call of the notification service.
type shown struct{ app, title, message string }

// notifications is a notification service on a real bus.
type notifications struct {
	calls chan shown
	hold  chan struct{} // an answer waits until this is closed; nil: none waits
}

// Notify is org.freedesktop.Notifications.Notify.
func (n *notifications) Notify(app string, _ uint32, _, title, message string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	n.calls <- shown{app, title, message}
	if n.hold != nil {
		<-n.hold
	}
	return 1, nil
}

// bus starts a session bus of the test's own and returns its address.
func bus(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Fatal("dbus-daemon is missing: install it with `apt-get install dbus` (brew install dbus, dnf install dbus-daemon)")
	}
	cmd := exec.Command(bin, "--session", "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dbus-daemon: %v", err)
	}
	return strings.TrimSpace(line)
}

// serviceOn puts the notification service on the bus.
func serviceOn(t *testing.T, address string, n *notifications) {
	t.Helper()
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Export(n, "/org/freedesktop/Notifications", "org.freedesktop.Notifications"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.Notifications", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
}

// TestDesktop shows notifications through beeep on a real D-Bus, with a service that answers and
// with one that hangs. It is one test because godbus keeps one session bus for a process.
func TestDesktop(t *testing.T) {
	address := bus(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	service := &notifications{calls: make(chan shown, 10), hold: make(chan struct{})}
	serviceOn(t, address, service)
	getenv := func(string) string { return address }
	n := newDesktop(true, getenv)
	n.limit = 200 * time.Millisecond

	// A service that hangs: the first call gives up, the second does not even wait.
	if channel, err := n.Notify(t.Context(), "first", "message"); channel != "log" || err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("service that hangs: %s, %v; want the log after the limit", channel, err)
	}
	started := time.Now()
	if channel, err := n.Notify(t.Context(), "second", "message"); channel != "log" || err == nil || time.Since(started) > n.limit/2 {
		t.Errorf("while a call hangs: %s, %v after %s; want the log at once", channel, err, time.Since(started))
	}
	if got := <-service.calls; got.title != "first" || got.app != "understudy" {
		t.Errorf("service got %+v, want the first call by understudy", got)
	}

	// It comes back, and so do notifications.
	close(service.hold)
	n.busy <- struct{}{} // the hanging call has ended
	<-n.busy
	n.limit = 10 * time.Second
	channel, err := n.Notify(t.Context(), "--title <b>", "an <agent> & more\x1b[31m\nnext")
	if channel != "desktop" || err != nil {
		t.Errorf("service that answers: %s, %v; want desktop", channel, err)
	}
	if got, want := <-service.calls, (shown{"understudy", "title &lt;b&gt;", "an &lt;agent&gt; &amp; more[31m next"}); got != want {
		t.Errorf("service got %+v, want %+v", got, want)
	}
}

func TestNoDesktop(t *testing.T) {
	t.Parallel()
	n := newDesktop(false, func(string) string { return "" })
	n.show = func(string, string) error { t.Error("shown although switched off"); return nil }
	if channel, err := n.Notify(t.Context(), "a", "b"); channel != "log" || err != nil {
		t.Errorf("switched off: %s, %v; want the log without an error", channel, err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":             "plain",
		"--help":            "help",
		"a\nb\tc":           "a b c",
		"\x1b]0;x\x07":      "]0;x",
		"bad \xff":          "bad \uFFFD",
		"<b>&":              "&lt;b&gt;&amp;",
		"twelve characters": "twelve cha…",
	} {
		if got := clean(in, 11); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
