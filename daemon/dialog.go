package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/tmux"
)

// Dialog is a dialog that stands in an agent's pane, as its screen shows it now.
type Dialog struct {
	AgentID int64          `json:"agent_id"`
	ID      string         `json:"id"`   // the fingerprint of this very dialog: an answer names it, so that no other one is answered
	Name    string         `json:"name"` // what it asks for, in one line
	Text    string         `json:"text"`
	Choices []DialogChoice `json:"choices"`
	// Why says why no choice can be taken from here; "": each can be, but for those with Input.
	Why string `json:"why"`
}

// DialogChoice is one answer that a dialog offers.
type DialogChoice struct {
	Number   int    `json:"number"` // from 1 on
	Label    string `json:"label"`
	Selected bool   `json:"selected"` // Enter would take it now
	Input    bool   `json:"input"`    // it asks for a text, so it is answered in the pane
}

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
	Dialog  string      `json:"dialog"` // Dialog.ID
	Name    string      `json:"name"`   // Dialog.Name
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

// ShownDialog is a dialog with the look in which it was read.
type ShownDialog struct {
	Dialog
	Read    runtimes.Dialog
	Command string // the program of the pane
}

// Sight returns what tmux must find unchanged when a key is pressed: the program, and the row of the choice that is selected.
func (s *ShownDialog) Sight() tmux.Sight {
	return tmux.Sight{Command: s.Command, Row: s.Read.Choices[s.Selected()].Row}
}

// Selected returns the index of the choice that Enter would take now.
func (s *ShownDialog) Selected() int { return s.Read.Selected() }

// Asks returns what the dialog asks for, as an agent's WaitsFor has it.
func (s *ShownDialog) Asks() string { return words.Clip(words.Line(s.Name), MaxWaitsFor) }

// Fingerprint returns the checksum of all that makes a dialog this very one: what it says above its choices, the choices, since
// when the agent waits, and how many dialogs were answered before it. The row that is selected is no part of it, nor is the text
// below the choices, which may follow the row.
func (a *Agent) Fingerprint(read *runtimes.Dialog) string {
	sum := sha256.New()
	since, nth := int64(0), 0
	if a.State == Waiting {
		since = a.StateAt.UnixMicro()
	}
	if in := a.DialogAnswer; in != nil {
		if nth = in.Nth; in.Open() {
			nth--
		}
	}
	fmt.Fprintf(sum, "%d %d %d\n%s\n%s\n", a.ID, since, nth, read.Name, strings.Join(read.Text, "\n"))
	for _, c := range read.Choices {
		fmt.Fprintf(sum, "\x00%s", c.Label)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// KeysTaken says that an agent's pane takes keys from a browser.
type KeysTaken struct {
	Session string    `json:"session"` // a page names it with each batch of keys
	From    string    `json:"from"`
	Since   time.Time `json:"since"`
}
