package daemon

import (
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/words"
)

// Hold says, in values, what is wrong with an agent or what a handoff waits for. Code decides by its kind. The note that people
// read is made of it, by [Hold.Words] alone.
type Hold struct {
	Kind  HoldKind   `json:"kind"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until"` // when it ends without anybody; null: nobody knows
	HoldDetail
}

// HoldDetail is what the words of some kinds need.
type HoldDetail struct {
	AgentID  int64  `json:"agent_id,omitempty"` // the other agent that it is about
	Limit    string `json:"limit,omitempty"`    // how long the daemon has waited
	Dialog   string `json:"dialog,omitempty"`   // what the open dialog says
	Composer bool   `json:"composer,omitempty"` // the pane shows an open composer
	Line     string `json:"line,omitempty"`     // the last line that the pane shows
	Says     string `json:"says,omitempty"`     // the reason, in the words of whoever gave it
	LookAt   int64  `json:"look_at,omitempty"`  // it lasts for long: the agent at which a person should look
}

// HoldKind is the code of a [Hold].
type HoldKind string

// What holds up an agent.
const (
	HoldBudget         HoldKind = "budget"            // the budget of its persona is used up
	HoldInBackground   HoldKind = "in_background"     // its session goes on without a pane
	HoldNoPane         HoldKind = "no_pane"           // it named a pane that could not be verified
	HoldNotRegistered  HoldKind = "not_registered"    // its session has not begun in time
	HoldUnanswered     HoldKind = "dialog_unanswered" // nobody has answered the dialog before its session
	HoldBrokeOff       HoldKind = "broke_off"         // it died in a turn, or has opened the session of one that did
	HoldNoConversation HoldKind = "no_conversation"   // it has ended, and its session cannot be opened again
	HoldNotResumed     HoldKind = "not_resumed"       // it died, and the daemon has told why it does not open its session again
	HoldBehind         HoldKind = "behind"            // a shell is in front of it in its terminal
	HoldUnreadable     HoldKind = "screen_unreadable" // its screen cannot be read
	HoldDraft          HoldKind = "draft"             // a person's draft stands in its composer
	HoldDrafts         HoldKind = "drafts"            // two drafts do
	HoldDialog         HoldKind = "dialog"            // a dialog is open in its pane
	HoldNotReady       HoldKind = "not_ready"         // its composer is not ready
	HoldOther          HoldKind = "other"             // what an older daemon has said of it
)

// What else a handoff waits for.
const (
	HoldBusy        HoldKind = "busy"         // the end of the turn that is answered with the instruction
	HoldTurn        HoldKind = "turn"         // the end of a turn
	HoldTasks       HoldKind = "tasks"        // background tasks
	HoldUndecided   HoldKind = "undecided"    // the verdict of a text that was typed
	HoldWorkedOn    HoldKind = "worked_on"    // a decision: the agent was given work after it wrote its document
	HoldWorkedAside HoldKind = "worked_aside" // a decision: the same, and its heirs have begun
	HoldWriting     HoldKind = "writing"      // the document is being written
	HoldGenerating  HoldKind = "generating"   // a one-shot is generating the document
	HoldForks       HoldKind = "forks"        // other documents are being generated
	HoldHeirDialog  HoldKind = "heir_dialog"  // the dialog in the pane of its successor
	HoldHeirs       HoldKind = "heirs"        // what its heirs wait for
)

// Ender is who can end a [Hold].
type Ender string

// The enders.
const (
	EndsPerson Ender = "person"
	EndsAgent  Ender = "agent"
	EndsTime   Ender = "time"
	EndsNobody Ender = "nobody"
)

// holdKind is a row of the table of all kinds.
type holdKind struct {
	Kind  HoldKind
	Ends  Ender
	Alert bool // a handoff that waits for it tells the operator at once
	Says  string
	words func(h *Hold) string // in place of says
}

// HoldKinds are all kinds of holds. Attention, alerts and notes are made of this table.
var HoldKinds = []holdKind{
	{Kind: HoldBudget, Ends: EndsTime, Says: "held: the budget of its persona is used up for today"},
	{Kind: HoldInBackground, Ends: EndsPerson, Says: "its session goes on in the background and has no pane: stop it and resume it"},
	{Kind: HoldNoPane, Ends: EndsAgent, words: func(h *Hold) string { return saysNoPane + h.Says }},
	{Kind: HoldNotRegistered, Ends: EndsAgent, words: func(h *Hold) string {
		return fmt.Sprintf("it did not register within %s%s", h.Limit, Shown{h.Dialog, h.Composer, h.Line}.Words())
	}},
	{Kind: HoldUnanswered, Ends: EndsPerson, words: func(h *Hold) string {
		return fmt.Sprintf("nobody has answered the dialog in its pane for %s: %s", h.Limit, words.Quote(h.Dialog))
	}},
	{Kind: HoldBrokeOff, Ends: EndsPerson, words: func(h *Hold) string {
		if h.AgentID == 0 {
			return saysBrokeOff
		}
		return fmt.Sprintf(saysBrokeOffOf, h.AgentID)
	}},
	{Kind: HoldNoConversation, Ends: EndsNobody, Says: event.TiedNoConversation},
	{Kind: HoldNotResumed, Ends: EndsPerson, words: func(h *Hold) string { return saysNotResumed + h.Says }},
	{Kind: HoldBehind, Ends: EndsPerson, Says: "the agent is not in the foreground of its terminal, which a shell reads now: run `fg` in its pane"},
	{Kind: HoldUnreadable, Ends: EndsAgent, Says: "the agent's screen cannot be read"},
	{Kind: HoldDraft, Ends: EndsPerson, Says: "the composer holds a draft, which this runtime cannot put aside: submit or delete it"},
	{Kind: HoldDrafts, Ends: EndsPerson, Says: "the composer holds a draft and keeps another one aside: submit or delete one of them"},
	{Kind: HoldDialog, Ends: EndsPerson, Alert: true, Says: "a dialog is open in the agent's pane; answer it there"},
	{Kind: HoldNotReady, Ends: EndsAgent, Says: "the agent's composer is not ready"},
	{Kind: HoldOther, Ends: EndsPerson, words: func(h *Hold) string { return h.Says }},

	{Kind: HoldBusy, Ends: EndsAgent, Says: "the agent is in a turn; it gets the instruction when that ends"},
	{Kind: HoldTurn, Ends: EndsAgent, Says: "the agent is in a turn"},
	{Kind: HoldTasks, Ends: EndsAgent, Says: "the agent still has background tasks"},
	{Kind: HoldUndecided, Ends: EndsAgent, Says: "a text was typed to the agent, and it is not known yet whether the agent has taken it"},
	{Kind: HoldWorkedOn, Ends: EndsPerson, Alert: true, Says: "the agent was given work that its document may not mention; " +
		"`understudy handoff retry` has it write the document anew, `understudy agent stop` ends it without"},
	{Kind: HoldWorkedAside, Ends: EndsPerson, Alert: true, Says: "the agent was given work that its heirs do not know of; " +
		"`understudy handoff retry` lets it live on beside them, `understudy agent stop` ends it"},
	{Kind: HoldWriting, Ends: EndsAgent, Says: "the document is still being written"},
	{Kind: HoldGenerating, Ends: EndsTime, Says: "the document is being generated"},
	{Kind: HoldForks, Ends: EndsTime, Says: "other documents are being generated; this one waits for its turn"},
	{Kind: HoldHeirDialog, Ends: EndsPerson, words: func(h *Hold) string {
		return fmt.Sprintf("a dialog is open in the pane of agent %d (%s): answer it with `understudy agent attach %[1]d`", h.AgentID, words.Quote(h.Dialog))
	}},
	{Kind: HoldHeirs, Ends: EndsAgent, words: func(h *Hold) string { return h.Says }},
}

// Parts of words that stand in other sentences as well, or by which [oldHold] knows a note.
const (
	saysNoPane     = "it has no pane: "
	saysBrokeOff   = "its turn broke off"
	saysBrokeOffOf = saysBrokeOff + " when agent %d ended: tell it to go on"
	saysNotResumed = "not resumed by the daemon: "
)

// Row returns the row of the table for a kind. An unknown kind, which a newer daemon has written, holds like one that an older daemon
// has said.
func (k HoldKind) Row() *holdKind {
	i := slices.IndexFunc(HoldKinds, func(row holdKind) bool { return row.Kind == k })
	if i < 0 {
		return HoldOther.Row()
	}
	return &HoldKinds[i]
}

// Hold returns the hold of a kind that needs no detail.
func (k HoldKind) Hold() Hold { return Hold{Kind: k} }

// Is reports whether the hold is of one of the kinds. A row that nothing holds has none.
func (h *Hold) Is(kinds ...HoldKind) bool { return h != nil && slices.Contains(kinds, h.Kind) }

// Words returns the note for people; "": nothing is held.
func (h *Hold) Words() string {
	if h == nil || h.Kind == "" {
		return ""
	}
	row := h.Kind.Row()
	said := row.Says
	if row.words != nil {
		said = row.words(h)
	}
	if h.LookAt != 0 {
		said = fmt.Sprintf("%s, for over a minute: look at it with `understudy agent attach %d`, or end it with `understudy agent stop %[2]d`", said, h.LookAt)
	}
	return said
}

// Same reports whether two holds differ in nothing but the time since when they last.
func (h *Hold) Same(other *Hold) bool {
	switch {
	case h.None() || other.None():
		return h.None() && other.None()
	case h.Kind == HoldOther || other.Kind == HoldOther: // an older daemon has said it, of values that are not known
		return h.Words() == other.Words()
	}
	sameEnd := h.Until == nil && other.Until == nil || h.Until != nil && other.Until != nil && h.Until.Equal(*other.Until)
	return h.Kind == other.Kind && h.HoldDetail == other.HoldDetail && sameEnd
}

func (h *Hold) None() bool { return h == nil || h.Kind == "" }

// Value returns the hold to pass on; the zero value: there is none.
func (h *Hold) Value() Hold {
	if h == nil {
		return Hold{}
	}
	return *h
}

// holding returns the hold that a row has from now on, and its note. A hold that goes on keeps the time since when it lasts.
func holding(before *Hold, h Hold, now time.Time) (after *Hold, note string) {
	switch {
	case h.Kind == "":
		return nil, ""
	case before.Is(h.Kind):
		h.Since = before.Since
	default:
		h.Since = now
	}
	return &h, h.Words()
}

// HoldBy notes what holds the agent up; the zero value: nothing does.
func (a *Agent) HoldBy(h Hold, now time.Time) { a.Hold, a.Note = holding(a.Hold, h, now) }

// Release notes that nothing holds the agent up.
func (a *Agent) Release() { a.HoldBy(Hold{}, time.Time{}) }

// WaitFor notes what the handoff waits for; the zero value: its phase says it.
func (h *Handoff) WaitFor(what Hold, now time.Time) { h.Hold, h.Note = holding(h.Hold, what, now) }

// WaitFor notes what the heir waits for; the zero value: its phase says it.
func (h *HandoffHeir) WaitFor(what Hold, now time.Time) { h.Hold, h.Note = holding(h.Hold, what, now) }

// Shown is what a pane shows: a dialog, an open composer, or else its last line.
type Shown struct {
	Dialog   string
	Composer bool
	Line     string
}

// Words returns the end of a sentence about a failure; "": the pane shows nothing.
func (s Shown) Words() string {
	switch {
	case s.Dialog != "":
		return "; a dialog is open: " + words.Quote(s.Dialog)
	case s.Composer:
		return PaneShows + "an open composer"
	case s.Line != "":
		return PaneShows + words.Quote(s.Line)
	}
	return ""
}
