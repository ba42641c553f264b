package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/runtimes"
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
	kind  HoldKind
	ends  Ender
	needs AttentionKind // why it needs a person; "": NeedsLook
	alert bool          // a handoff that waits for it tells the operator at once
	says  string
	words func(h *Hold) string // in place of says
}

// holdKinds are all kinds of holds. Attention, alerts and notes are made of this table.
var holdKinds = []holdKind{
	{kind: HoldBudget, ends: EndsTime, needs: NeedsBudget, says: saysHeld + saysBudget},
	{kind: HoldInBackground, ends: EndsPerson, says: "its session goes on in the background and has no pane: stop it and resume it"},
	{kind: HoldNoPane, ends: EndsAgent, words: func(h *Hold) string { return saysNoPane + h.Says }},
	{kind: HoldNotRegistered, ends: EndsAgent, words: func(h *Hold) string {
		return fmt.Sprintf("it did not register within %s%s", h.Limit, shown{h.Dialog, h.Composer, h.Line}.words())
	}},
	{kind: HoldUnanswered, ends: EndsPerson, words: func(h *Hold) string {
		return fmt.Sprintf("nobody has answered the dialog in its pane for %s: %s", h.Limit, words.Quote(h.Dialog))
	}},
	{kind: HoldBrokeOff, ends: EndsPerson, words: func(h *Hold) string {
		if h.AgentID == 0 {
			return saysBrokeOff
		}
		return fmt.Sprintf(saysBrokeOffOf, h.AgentID)
	}},
	{kind: HoldNoConversation, ends: EndsNobody, says: event.TiedNoConversation},
	{kind: HoldNotResumed, ends: EndsPerson, words: func(h *Hold) string { return saysNotResumed + h.Says }},
	{kind: HoldBehind, ends: EndsPerson, says: "the agent is not in the foreground of its terminal, which a shell reads now: run `fg` in its pane"},
	{kind: HoldUnreadable, ends: EndsAgent, says: "the agent's screen cannot be read"},
	{kind: HoldDraft, ends: EndsPerson, says: runtimes.ErrDraft.Error()},
	{kind: HoldDrafts, ends: EndsPerson, says: runtimes.ErrDrafts.Error()},
	{kind: HoldDialog, ends: EndsPerson, alert: true, says: "a dialog is open in the agent's pane; answer it there"},
	{kind: HoldNotReady, ends: EndsAgent, says: "the agent's composer is not ready"},
	{kind: HoldOther, ends: EndsPerson, words: func(h *Hold) string { return h.Says }},

	{kind: HoldBusy, ends: EndsAgent, says: "the agent is in a turn; it gets the instruction when that ends"},
	{kind: HoldTurn, ends: EndsAgent, says: "the agent is in a turn"},
	{kind: HoldTasks, ends: EndsAgent, says: "the agent still has background tasks"},
	{kind: HoldUndecided, ends: EndsAgent, says: "a text was typed to the agent, and it is not known yet whether the agent has taken it"},
	{kind: HoldWorkedOn, ends: EndsPerson, needs: NeedsDecision, alert: true, says: "the agent was given work that its document may not mention; " +
		"`understudy handoff retry` has it write the document anew, `understudy agent stop` ends it without"},
	{kind: HoldWorkedAside, ends: EndsPerson, needs: NeedsDecision, alert: true, says: "the agent was given work that its heirs do not know of; " +
		"`understudy handoff retry` lets it live on beside them, `understudy agent stop` ends it"},
	{kind: HoldWriting, ends: EndsAgent, says: "the document is still being written"},
	{kind: HoldGenerating, ends: EndsTime, says: "the document is being generated"},
	{kind: HoldForks, ends: EndsTime, says: "other documents are being generated; this one waits for its turn"},
	{kind: HoldHeirDialog, ends: EndsPerson, words: func(h *Hold) string {
		return fmt.Sprintf("a dialog is open in the pane of agent %d (%s): answer it with `understudy agent attach %[1]d`", h.AgentID, words.Quote(h.Dialog))
	}},
	{kind: HoldHeirs, ends: EndsAgent, words: func(h *Hold) string { return h.Says }},
}

// Parts of words that stand in other sentences as well, or by which [oldHold] knows a note.
const (
	saysHeld       = "held: "
	saysBudget     = "the budget of its persona is used up for today"
	saysNoPane     = "it has no pane: "
	saysBrokeOff   = "its turn broke off"
	saysBrokeOffOf = saysBrokeOff + " when agent %d ended: tell it to go on"
	saysNotResumed = "not resumed by the daemon: "
)

// row returns the row of the table for a kind. An unknown kind, which a newer daemon has written, holds like one that an older daemon
// has said.
func (k HoldKind) row() *holdKind {
	i := slices.IndexFunc(holdKinds, func(row holdKind) bool { return row.kind == k })
	if i < 0 {
		return HoldOther.row()
	}
	return &holdKinds[i]
}

// hold returns the hold of a kind that needs no detail.
func (k HoldKind) hold() Hold { return Hold{Kind: k} }

// Is reports whether the hold is of one of the kinds. A row that nothing holds has none.
func (h *Hold) Is(kinds ...HoldKind) bool { return h != nil && slices.Contains(kinds, h.Kind) }

// needs returns why a person is needed.
func (h *Hold) needs() AttentionKind { return cmp.Or(h.Kind.row().needs, NeedsLook) }

// Words returns the note for people; "": nothing is held.
func (h *Hold) Words() string {
	if h == nil || h.Kind == "" {
		return ""
	}
	row := h.Kind.row()
	said := row.says
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
	case h.none() || other.none():
		return h.none() && other.none()
	case h.Kind == HoldOther || other.Kind == HoldOther: // an older daemon has said it, of values that are not known
		return h.Words() == other.Words()
	}
	sameEnd := h.Until == nil && other.Until == nil || h.Until != nil && other.Until != nil && h.Until.Equal(*other.Until)
	return h.Kind == other.Kind && h.HoldDetail == other.HoldDetail && sameEnd
}

func (h *Hold) none() bool { return h == nil || h.Kind == "" }

// value returns the hold to pass on; the zero value: there is none.
func (h *Hold) value() Hold {
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

// holdBy notes what holds the agent up; the zero value: nothing does.
func (a *Agent) holdBy(h Hold, now time.Time) { a.Hold, a.Note = holding(a.Hold, h, now) }

// release notes that nothing holds the agent up.
func (a *Agent) release() { a.holdBy(Hold{}, time.Time{}) }

// waitFor notes what the handoff waits for; the zero value: its phase says it.
func (h *Handoff) waitFor(what Hold, now time.Time) { h.Hold, h.Note = holding(h.Hold, what, now) }

// waitFor notes what the heir waits for; the zero value: its phase says it.
func (h *HandoffHeir) waitFor(what Hold, now time.Time) { h.Hold, h.Note = holding(h.Hold, what, now) }

// shown is what a pane shows: a dialog, an open composer, or else its last line.
type shown struct {
	dialog   string
	composer bool
	line     string
}

// words returns the end of a sentence about a failure; "": the pane shows nothing.
func (s shown) words() string {
	switch {
	case s.dialog != "":
		return "; a dialog is open: " + words.Quote(s.dialog)
	case s.composer:
		return paneShows + "an open composer"
	case s.line != "":
		return paneShows + words.Quote(s.line)
	}
	return ""
}
