package permissions

import (
	"context"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
)

// dialogShows is how long after the hook of a permission the registry says at the latest that a dialog is open: 0.4 s were measured
// with Claude Code 2.1.330 on a quiet machine.
const dialogShows = 3 * time.Second

// paneDialog is what was seen of the dialog of one permission.
type paneDialog struct {
	shown bool // the registry has said that a dialog is open
	stood bool // it stood in the pane, as its screen has shown
}

// dialogSigns is what is known of the dialog of an open permission.
type dialogSigns struct {
	ended  bool            // its agent has ended
	late   bool            // nobody has answered it in time
	asked  time.Duration   // since when
	moved  bool            // a hook or the registry has moved the agent on since
	known  bool            // the registry has an entry
	status runtimes.Status // that the entry has
	shown  bool            // the registry has said before that a dialog is open
	other  bool            // the pane has shown its dialog, and shows that of another permission instead
}

// over says how an open permission has ended although nobody has answered it here; state is "" if it has not. What hooks tell of
// the agent says nothing of a dialog, if there is a registry: a dialog may be a sub-agent's, and the agent itself ends its turn
// and begins another one below it.
func (s dialogSigns) over() (state daemon.PermissionState, note string) {
	switch {
	case s.ended:
		return daemon.PermissionPane, daemon.EvidenceEnded.Words()
	case s.known && s.status == runtimes.StatusWaiting && s.other,
		s.known && s.status != runtimes.StatusWaiting && (s.shown || s.moved && s.asked >= dialogShows),
		!s.known && s.moved:
		return daemon.PermissionPane, noteInPane
	case s.late:
		return daemon.PermissionUnanswered, noteTimeout
	}
	return "", ""
}

// dialogSignsOf looks at the dialog of an open permission. ok is false if that is not possible now.
func dialogSignsOf(r *Room, ctx context.Context, p *daemon.Permission, dialog *paneDialog) (s dialogSigns, ok bool) {
	a, err := r.store.Agent(ctx, p.AgentID)
	if err != nil {
		return s, false
	}
	s = dialogSigns{
		ended: !a.Active(), late: p.HeldUntil != nil && r.env.TimeLeft(p.AskedAt, p.HeldUntil.Sub(p.AskedAt)) <= 0, asked: r.env.TimeSpent(p.AskedAt),
		moved: a.State != daemon.Waiting && (a.StateAt.After(p.AskedAt) || a.LastPrompt > p.ID || a.LastStop > p.ID), // its id is that of its hook
	}
	if r.env.Now().Before(p.AskedAt) {
		s.asked = dialogShows // the clock was set back since, so its time tells nothing
	}
	status := sight.StatusOf(r.env.Sight, &a)
	if status == runtimes.StatusUnknown {
		return s, true
	}
	s.known, s.status, s.shown = true, status, dialog.shown
	// The hook of the permission has made the agent wait, so something has moved an agent that does not. The times say so only if the
	// clock was not set back since. Without a registry they are needed, because an earlier hook may have come late.
	s.moved = a.State != daemon.Waiting
	if s.status == runtimes.StatusWaiting {
		dialog.shown = true
		s.other = showsOther(r, ctx, p, &a, dialog)
	}
	return s, true
}

// showsOther reports whether the pane shows the dialog of another permission of the agent, and not that of p any more. Dialogs wait for
// each other, and the registry says the same of all: a dialog that has not stood in the pane yet waits for its turn.
func showsOther(r *Room, ctx context.Context, p *daemon.Permission, a *daemon.Agent, dialog *paneDialog) bool {
	open, err := r.store.Permissions(ctx, daemon.PermissionFilter{AgentID: p.AgentID, Open: true})
	if err != nil || dialog.stood && len(open) < 2 || !a.HasPane() {
		return false
	}
	s, err := r.env.ReadDialog(ctx, a)
	if err != nil {
		return false
	}
	mine := asks(s.Text, p)
	if dialog.stood = dialog.stood || mine; mine || !dialog.stood {
		return false
	}
	for i := range open {
		if other := &open[i]; other.ID != p.ID && asks(s.Text, other) {
			return true
		}
	}
	return false
}

// askedStart is how much of what a permission asks is looked for in a dialog, in runes: a pane breaks long lines and cuts them.
const askedStart = 40

// asks reports whether the text of a dialog has what a permission asks.
func asks(dialog string, p *daemon.Permission) bool {
	subject := []rune(p.Subject)
	subject = subject[:min(len(subject), askedStart)]
	return len(subject) > 0 && strings.Contains(squeezed(dialog), squeezed(string(subject)))
}

// squeezed returns a text without white space.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }
