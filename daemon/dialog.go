package daemon

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/words"
)

// DialogState says where an answer to a dialog stands.
type DialogState string

// The states of an answer to a dialog. All but the first two are final.
const (
	// DialogAsked: the answer is committed, and nothing was pressed.
	DialogAsked DialogState = "asked"
	// DialogPressing: keys are pressed. A daemon that finds this state after a restart presses nothing.
	DialogPressing DialogState = "pressing"
	// DialogGone: the choice was taken, and the dialog is gone.
	DialogGone DialogState = "gone"
	// DialogOther: the choice was taken, and another dialog is open now.
	DialogOther DialogState = "other"
	// DialogStays: the choice was taken, and the very same dialog is still open.
	DialogStays DialogState = "stays"
	// DialogNotPressed: the choice was not taken, because the pane had changed or showed something else.
	DialogNotPressed DialogState = "not_pressed"
	// DialogUnknown: the daemon was restarted meanwhile, and nobody knows whether the choice was taken.
	DialogUnknown DialogState = "unknown"
)

// DialogAnswer is the last answer that the operator has given to a dialog of an agent from elsewhere than its pane.
type DialogAnswer struct {
	Dialog  string      `json:"dialog"` // the ID of the dialog that was answered
	Name    string      `json:"name"`   // its name
	Choice  int         `json:"choice"`
	Label   string      `json:"label"`
	From    string      `json:"from"`
	State   DialogState `json:"state"`
	Note    string      `json:"note"` // what has become of it, as a sentence without its subject
	At      time.Time   `json:"at"`
	EndedAt *time.Time  `json:"ended_at"`
	Nth     int         `json:"nth"` // how many answers the agent was given, with this one
}

// Open reports whether the answer is not in a final state.
func (in *DialogAnswer) Open() bool { return in.State == DialogAsked || in.State == DialogPressing }

// Words says what was answered, and what has become of it.
func (in *DialogAnswer) Words() string {
	return fmt.Sprintf("choice %d, %s (%s)%s", in.Choice, words.Quote(in.Label), in.From, map[bool]string{true: ": " + in.Note}[in.Note != ""])
}

// KeysTaken says that an agent's pane takes keys from a browser.
type KeysTaken struct {
	Session string    `json:"session"` // a page names it with each batch of keys
	From    string    `json:"from"`
	Since   time.Time `json:"since"`
}
