package daemon

import (
	"context"
	"fmt"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/hooks"
)

// screenWatched reports whether the pane of a registered agent is looked at all the time, because its runtime shows some
// dialogs, or their end, on the screen only.
func (d *Daemon) screenWatched(a *Agent) bool {
	return a.RegisteredAt != nil && a.HasPane() && a.StopAskedAt == nil && a.WaitsFor != waitsForFg && d.runtimeOf(a).Can.WatchScreen
}

// watchScreen reports a dialog that no hook has reported, and the end of a dialog that no hook reports. Between two dialogs
// the pane may be empty for a moment, so one look without a dialog does not end it.
func (d *Daemon) watchScreen(ctx context.Context, a *Agent, text string) error {
	dialog := d.runtimeOf(a).ReadScreen(runtimes.View{Text: text}).Dialog
	d.noteGlimpse(a, dialog)
	open := d.memories.of(a.ID).glimpse.open()
	switch {
	case open && (a.State == Idle || a.State == Working):
		return d.report(ctx, a, runtimes.Report{
			Event: hooks.Notification, Key: fmt.Sprintf("dialog after hook %d", a.LastHook),
			Body: event.Payload(map[string]string{"notification_type": "permission_prompt", "message": words.Line(dialog)}),
		})
	case !open && a.State == Waiting && d.memories.of(a.ID).glimpse.looksWithout >= 2:
		s, err := d.readScreen(ctx, a)
		if err != nil || s.Dialog != "" || !s.Composer {
			return err
		}
		r := runtimes.Report{Event: hooks.DialogClosed, Key: fmt.Sprintf("dialog closed after hook %d", a.LastHook), Body: []byte(`{}`)}
		if !s.Busy { // the dialog was not part of a turn
			r.Event, r.Body = hooks.Notification, []byte(`{"notification_type":"idle_prompt"}`)
		}
		return d.report(ctx, a, r)
	}
	return nil
}
