//go:build e2e && linux

package stories

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/understudyd/understudy/cmd/internal/cmdtest"
	"github.com/understudyd/understudy/cmd/internal/desktop"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/tell"
)

// dunstDesktop is a desktop with dunst, a notification service that people use.
type dunstDesktop struct {
	t       *testing.T
	bus     cmdtest.SessionBus
	display string
	conn    *dbus.Conn
}

// newDunst starts an X server without a screen, a session bus and dunst. All of them end with the test.
func newDunst(t *testing.T) *dunstDesktop {
	t.Helper()
	d := &dunstDesktop{t: t, bus: cmdtest.StartBus(t)}
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	x := exec.Command(findProgram(t, "Xvfb", "xvfb"), "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{w}
	d.startProcess(x)
	w.Close()
	number := make([]byte, 16)
	n, err := r.Read(number)
	if err != nil {
		t.Fatalf("Xvfb: %v", err)
	}
	d.display = ":" + strings.TrimSpace(string(number[:n]))
	d.conn = value(dbus.Connect(d.bus.Address))(t)
	t.Cleanup(func() { _ = d.conn.Close() })
	owned := make(chan *dbus.Signal, 10)
	d.conn.Signal(owned)
	must(t, d.conn.AddMatchSignal(dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, cmdtest.NotificationService)))
	home := t.TempDir()
	dunst := exec.Command(findProgram(t, "dunst", "dunst"), "-conf", os.DevNull)
	dunst.Env = []string{"DISPLAY=" + d.display, "DBUS_SESSION_BUS_ADDRESS=" + d.bus.Address, "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "LANG=C.UTF-8"}
	d.startProcess(dunst)
	for signal := range owned {
		if signal.Name == "org.freedesktop.DBus.NameOwnerChanged" {
			return d
		}
	}
	t.Fatal("the session bus has ended")
	return nil
}

// findProgram finds a program that the test cannot do without.
func findProgram(t *testing.T, program, from string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing: install it with `apt-get install %s`", program, from)
	}
	return path
}

// startProcess starts a process that ends with the test.
func (d *dunstDesktop) startProcess(cmd *exec.Cmd) {
	d.t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	must(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if d.t.Failed() {
			d.t.Logf("%s: %s", filepath.Base(cmd.Path), &said)
		}
	})
}

// dunstNote is a notification as dunst remembers it.
type dunstNote struct {
	app, title, body string
	stays            bool // until somebody closes it
}

// history closes all notifications and returns them by title.
func (d *dunstDesktop) history() map[string]dunstNote {
	d.t.Helper()
	control := d.conn.Object(cmdtest.NotificationService, "/org/freedesktop/Notifications")
	must(d.t, control.Call("org.dunstproject.cmd0.NotificationCloseAll", 0).Err)
	var list []map[string]dbus.Variant
	must(d.t, control.Call("org.dunstproject.cmd0.NotificationListHistory", 0).Store(&list))
	notes := map[string]dunstNote{}
	for _, n := range list {
		text := func(name string) string { s, _ := n[name].Value().(string); return s }
		timeout, known := n["timeout"].Value().(int64)
		notes[text("summary")] = dunstNote{text("appname"), text("summary"), text("body"), known && timeout == 0}
	}
	return notes
}

// takePicture takes a picture of the screen and keeps it if $UNDERSTUDY_SHOTS names a folder. It fails if the picture
// shows nothing.
func (d *dunstDesktop) takePicture(name string) {
	d.t.Helper()
	dir := os.Getenv("UNDERSTUDY_SHOTS")
	if dir == "" {
		dir = d.t.TempDir()
	} else {
		must(d.t, os.MkdirAll(dir, 0o755))
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command(findProgram(d.t, "import", "imagemagick"), "-display", d.display, "-window", "root", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("import: %v: %s", err, out)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 4096 { // A black screen has 300 bytes.
		d.t.Errorf("%s shows nothing: %v", path, errors.Join(err, io.ErrUnexpectedEOF))
	}
}

// TestDunstShowsNotifications: On a real desktop, a real daemon notifies of an error, of an agent that waits and of a
// handoff that has completed.
func TestDunstShowsNotifications(t *testing.T) {
	t.Parallel()
	d := newDunst(t)
	r := newRig(t)
	r.cfg.Settings.Notify.Desktop = true
	r.cfg.Getenv = d.bus.Getenv
	r.start()
	outgoing, waiting, broken := r.startAgent(con), r.startAgent("reviewer-ada-1"), startWorked(r, "tester-kit-1")
	r.sendMessage(waiting.ID, "deploy it @ask")
	h := r.requestHandoff(outgoing.ID)
	must(t, r.tmux.Kill(t.Context(), r.pane(broken.ID).Ref))
	r.awaitPhase(h, daemon.Completed)
	want := map[string]dunstNote{}
	for _, n := range []dunstNote{
		{"understudy", fmt.Sprintf("understudy: agent ended (agent %d)", broken.ID), fmt.Sprintf("`understudy agent resume %d`", broken.ID), true},
		{"understudy", fmt.Sprintf("understudy: agent waiting (agent %d)", waiting.ID), "`understudy permission show ", false},
		{"understudy", fmt.Sprintf("understudy: handoff completed (handoff %d)", h), "`understudy agent attach ", false},
	} {
		want[n.title] = n
	}
	r.await("three notifications on the desktop", func() (bool, string) {
		told := r.eventsWhere(func(e event.Event) bool {
			return e.Type == "operator_notified" && field(t, e, "channel") == "desktop"
		})
		return len(told) == len(want), fmt.Sprintf("%d", len(told))
	})
	if channel, err := desktop.New(true, d.bus.Getenv, cmdtest.MainProgram(t)).Notify(t.Context(), tell.Notification{Title: "hostile <b>", Message: cmdtest.Hostile}); channel != "desktop" {
		t.Error(err)
	}
	d.takePicture("notifications.png")
	got := d.history()
	if body := got["hostile ‹b›"].body; body == "" || strings.ContainsAny(body, "<>\x1b\u202e") {
		t.Errorf("what an agent wrote is shown as %q", body)
	}
	delete(got, "hostile ‹b›")
	for title, w := range want {
		if g := got[title]; g.app != w.app || !strings.Contains(g.body, w.body) || g.stays != w.stays {
			t.Errorf("%s: dunst shows %+v, want %+v", title, g, w)
		}
		delete(got, title)
	}
	if len(got) > 0 {
		t.Errorf("dunst also shows %+v", got)
	}
	tested, err := r.client.TestNotification(t.Context(), "")
	if err != nil || tested.Channel != "desktop" || tested.Error != nil {
		t.Errorf("test notification: %+v, %v", tested, err)
	}
}
