package sight

import (
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// Whether an agent takes a text now is asked in two steps. First its row: a dialog, a turn, or the start of its session may be in the way,
// as [daemon.WhyBusy] says. Then its pane, as [PaneFacts.WhyNot] says, right before the text is typed. Both answer with the kind of a hold;
// its words are those of [daemon.HoldKinds].

// PaneFacts are what decides whether a text may be typed into an agent's pane now, in values.
type PaneFacts struct {
	Answering bool             // a hook of the agent is held for /handoff: a text would be queued behind it
	Status    runtimes.Status  // of the agent's entry in its runtime's registry
	InFront   bool             // the agent reads what is typed into its terminal
	Screen    *runtimes.Screen // nil: nobody has read it yet, or it cannot be read
	Stashes   bool             // the runtime puts a person's draft aside for the text
	Exits     bool             // the text is the exit command, which may wait for the end of a turn in the composer
}

// WhyNot returns why no text may be typed now; "": it may. [daemon.HoldUnreadable] comes only if nothing but the screen is left to be asked.
func (f *PaneFacts) WhyNot() daemon.HoldKind {
	switch s := f.Screen; {
	case f.Answering, f.Status == runtimes.StatusBusy:
		return daemon.HoldTurn
	case f.Status == runtimes.StatusWaiting:
		return daemon.HoldDialog
	case !f.InFront:
		return daemon.HoldBehind
	case s == nil:
		return daemon.HoldUnreadable
	case s.Dialog != "":
		return daemon.HoldDialog
	case !s.Composer, s.Busy && !f.Exits:
		return daemon.HoldNotReady
	case s.Draft != "" && !f.Stashes:
		return daemon.HoldDraft
	case s.Draft != "" && s.Stashed:
		return daemon.HoldDrafts
	}
	return ""
}
