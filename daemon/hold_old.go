package daemon

import (
	"fmt"
	"strings"
	"time"
)

// A daemon of the last release, which may work on the same database, writes a note and no hold, and decides by the note. So the note is
// written with each hold, in the very words that it knows, and [oldHold] reads the notes that it has written: a note that is not made of
// the hold beside it is newer than that hold. It is the same with the evidence of deliveries and its code. Both stores call ReadOld for
// each row that they read. When the last release writes holds and these codes, this file goes, a migration maps the rows that it has left, and words may be changed freely: a test in package db tells when.

// ReadOld reads what an older daemon has written on the row.
func (a *Agent) ReadOld() {
	at := a.StateAt
	if a.EndedAt != nil {
		at = *a.EndedAt
	}
	a.Hold = readHold(a.Hold, a.Note, at)
	if a.EndReason != nil && a.EndCode == "" {
		a.EndCode = oldEnd(*a.EndReason)
	}
}

// oldEnd returns the code of an end that an older daemon has said in words.
func oldEnd(reason string) EndCode {
	if strings.HasPrefix(reason, saysNotStarted) {
		return EndedNotStarted
	}
	code, _, _ := strings.Cut(reason, PaneShows)
	return EndCode(code)
}

// ReadOld reads what an older daemon has written on the rows of the handoff and its heirs.
func (h *Handoff) ReadOld() {
	h.Hold = readHold(h.Hold, h.Note, h.PhaseAt)
	for i := range h.Heirs {
		heir := &h.Heirs[i]
		at := h.PhaseAt
		if heir.PhaseAt != nil {
			at = *heir.PhaseAt
		}
		heir.Hold = readHold(heir.Hold, heir.Note, at)
	}
}

// ReadOld reads what an older daemon has written on the row.
func (d *Delivery) ReadOld() {
	if d.EvidenceCode.Words() == d.Evidence {
		return
	}
	d.EvidenceCode = ""
	for code, said := range evidenceWords {
		if said == d.Evidence {
			d.EvidenceCode = code
		}
	}
}

// readHold returns the hold of a row. at is since when an older daemon's note holds at the earliest, as far as is known.
func readHold(h *Hold, note string, at time.Time) *Hold {
	switch {
	case note == "":
		return nil
	case h.Words() == note:
		return h
	}
	old := oldHold(note)
	old.Since = at
	return &old
}

// oldHold returns the hold that an older daemon has said in words.
func oldHold(note string) Hold {
	for i := range HoldKinds {
		if row := &HoldKinds[i]; row.words == nil && row.Says == note {
			return row.Kind.Hold()
		}
	}
	if why, ok := strings.CutPrefix(note, saysNoPane); ok {
		return Hold{Kind: HoldNoPane, HoldDetail: HoldDetail{Says: why}}
	}
	if why, ok := strings.CutPrefix(note, saysNotResumed); ok {
		return Hold{Kind: HoldNotResumed, HoldDetail: HoldDetail{Says: why}}
	}
	if strings.HasPrefix(note, saysBrokeOff) {
		h := HoldBrokeOff.Hold()
		_, _ = fmt.Sscanf(note, saysBrokeOffOf, &h.AgentID) // the note of the agent that died has no number
		return h
	}
	return Hold{Kind: HoldOther, HoldDetail: HoldDetail{Says: note}}
}
