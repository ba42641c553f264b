package daemon

import (
	"testing"
	"time"

	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// lastNotes are notes as the daemon of the last release writes them and reads them, each with its hold.
var lastNotes = map[string]Hold{
	"held: the budget of its persona is used up for today":                                              {Kind: HoldBudget},
	"its session goes on in the background and has no pane: stop it and resume it":                      {Kind: HoldInBackground},
	"it has no pane: no such pane":                                                                      {Kind: HoldNoPane, HoldDetail: HoldDetail{Says: "no such pane"}},
	"its turn broke off":                                                                                {Kind: HoldBrokeOff},
	"its turn broke off when agent 12 ended: tell it to go on":                                          {Kind: HoldBrokeOff, HoldDetail: HoldDetail{AgentID: 12}},
	"its session has no conversation":                                                                   {Kind: HoldNoConversation},
	"not resumed by the daemon: it died 3s after its session was opened again":                          {Kind: HoldNotResumed, HoldDetail: HoldDetail{Says: "it died 3s after its session was opened again"}},
	"the agent is not in the foreground of its terminal, which a shell reads now: run `fg` in its pane": {Kind: HoldBehind},
	"the agent's screen cannot be read":                                                                 {Kind: HoldUnreadable},
	"the composer holds a draft, which this runtime cannot put aside: submit or delete it":              {Kind: HoldDraft},
	"the composer holds a draft and keeps another one aside: submit or delete one of them":              {Kind: HoldDrafts},
	"a dialog is open in the agent's pane; answer it there":                                             {Kind: HoldDialog},
	"the agent's composer is not ready":                                                                 {Kind: HoldNotReady},
	"the agent is in a turn; it gets the instruction when that ends":                                    {Kind: HoldBusy},
	"the agent is in a turn":                                                                            {Kind: HoldTurn},
	"the agent still has background tasks":                                                              {Kind: HoldTasks},
	"a text was typed to the agent, and it is not known yet whether the agent has taken it":             {Kind: HoldUndecided},
	"the document is still being written":                                                               {Kind: HoldWriting},
	"the document is being generated":                                                                   {Kind: HoldGenerating},
	"other documents are being generated; this one waits for its turn":                                  {Kind: HoldForks},
	"it did not register within 1m30s; its pane shows ‹error›":                                          {Kind: HoldOther, HoldDetail: HoldDetail{Says: "it did not register within 1m30s; its pane shows ‹error›"}},
	"the agent is in a turn, for over a minute: look at it with `understudy agent attach 7`, or end it with `understudy agent stop 7`": {
		Kind: HoldOther, HoldDetail: HoldDetail{Says: "the agent is in a turn, for over a minute: look at it with `understudy agent attach 7`, or end it with `understudy agent stop 7`"}},
	"the agent was given work that its document may not mention; `understudy handoff retry` has it write the document anew, `understudy agent stop` ends it without": {Kind: HoldWorkedOn},
	"the agent was given work that its heirs do not know of; `understudy handoff retry` lets it live on beside them, `understudy agent stop` ends it":                {Kind: HoldWorkedAside},
}

// TestHoldOfTheLastRelease: a note of an older daemon is read as the hold that this daemon would have written, and this daemon writes the
// note that the older one reads.
func TestHoldOfTheLastRelease(t *testing.T) {
	t.Parallel()
	began, ended := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC), time.Date(2026, 11, 27, 11, 0, 0, 0, time.UTC)
	seen := map[HoldKind]bool{}
	for note, want := range lastNotes {
		seen[want.Kind] = true
		for name, before := range map[string]*Hold{"no hold": nil, "another one": {Kind: HoldDraft, HoldDetail: HoldDetail{Line: "x"}, Since: began.Add(-time.Hour), Until: &began}} {
			if before.Words() == note {
				continue // the older daemon has left it
			}
			a := Agent{StateAt: began, Note: note, Hold: before}
			a.ReadOld()
			if !a.Hold.Same(&want) || a.Hold.Kind != want.Kind || !a.Hold.Since.Equal(began) || a.Hold.Words() != note || a.Note != note {
				t.Errorf("%s after %s: read as %+v, %q", note, name, a.Hold, a.Hold.Words())
			}
		}
		late := Agent{StateAt: began, AgentEnd: AgentEnd{EndedAt: &ended}, Note: note}
		if late.ReadOld(); !late.Hold.Since.Equal(ended) {
			t.Errorf("%s: an agent that has ended is held since %s", note, late.Hold.Since)
		}
		h := Handoff{PhaseAt: began, Note: note, Heirs: []HandoffHeir{{Note: note, PhaseAt: &ended}}}
		if h.ReadOld(); !h.Hold.Same(&want) || !h.Heirs[0].Hold.Same(&want) || !h.Heirs[0].Hold.Since.Equal(ended) {
			t.Errorf("%s: a handoff waits for %+v, and its heir for %+v", note, h.Hold, h.Heirs[0].Hold)
		}
	}
	for i := range HoldKinds {
		if row := &HoldKinds[i]; row.words == nil && !seen[row.Kind] {
			t.Errorf("no note of the last release is read as %s", row.Kind)
		}
	}
	freed := Agent{Hold: &Hold{Kind: HoldDraft}}
	if freed.ReadOld(); freed.Hold != nil {
		t.Errorf("an older daemon has taken the note away, and the agent is held by %+v", freed.Hold)
	}
}

// TestEndOfTheLastRelease: a reason of an older daemon is read as the code that this daemon would have written beside the same reason.
func TestEndOfTheLastRelease(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]struct {
		code EndCode
		said string
		died bool
	}{
		"prompt_input_exit": {"prompt_input_exit", "", false}, "exited": {EndedByItself, "", false}, "tmux_server_gone": {EndedByServer, "", true},
		"process_gone": {EndedGone, "", true}, "process_gone; its pane shows ‹error›": {EndedGone, "; its pane shows ‹error›", true},
		"conversation_gone; its pane shows ‹No conversation found›": {EndedLost, "; its pane shows ‹No conversation found›", true},
		"other; its pane shows ‹bye›":                               {EndedOther, "; its pane shows ‹bye›", true},
		"not started: no such directory; its pane shows ‹x›":        {EndedNotStarted, "no such directory; its pane shows ‹x›", true},
	} {
		now := time.Now()
		a := &Agent{AgentEnd: AgentEnd{EndedAt: &now, EndReason: &reason}, Managed: true}
		if a.ReadOld(); a.EndCode != want.code || a.Died() != want.died {
			t.Errorf("%s: read as %s, died %t", reason, a.EndCode, a.Died())
		}
		if a.EndBy(want.code, want.said); *a.EndReason != reason {
			t.Errorf("%s: written as %s", reason, *a.EndReason)
		}
	}
}

// lastEvidence is evidence as the daemon of the last release writes it, each with its code.
var lastEvidence = map[string]EvidenceCode{
	"found in the transcript":                              EvidenceInTranscript,
	"the agent has no pane":                                EvidenceNoPane,
	"the pane is gone":                                     EvidencePaneGone,
	"the agent ended":                                      EvidenceEnded,
	"the agent goes on without it":                         EvidenceWentOn,
	"the context file was changed before it was delivered": EvidenceChanged,
	"the handoff ended while it was typed":                 EvidenceNotWanted,
	"the agent's handoff was recorded":                     EvidenceRecorded,
	"the agent was asked to stop":                          EvidenceStopAsked,
	"its step of the pipeline has ended":                   EvidenceStepEnded,
	"ack_timeout: it is not known whether it was typed, and the composer takes nothing now": EvidenceBlocked,
	"ack_timeout: it is not known whether it was typed, and the screen is not known":        EvidenceUnknownScreen,
}

// TestEvidenceOfTheLastRelease: evidence of an older daemon is read as the code that this daemon would have written beside the same words.
// Evidence that has no code is read without one, whatever code an earlier daemon has left beside it.
func TestEvidenceOfTheLastRelease(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for said, want := range lastEvidence {
		for _, before := range []EvidenceCode{"", EvidenceNoPane, EvidenceEnded, "unknown"} {
			dl := Delivery{Evidence: said, EvidenceCode: before}
			if dl.ReadOld(); dl.EvidenceCode != want || dl.Evidence != said {
				t.Errorf("%s beside %q: read as %q", said, before, dl.EvidenceCode)
			}
		}
		var dl Delivery
		if dl.DecideBy(NotSubmitted, want, now); dl.Evidence != said || dl.EvidenceCode != want {
			t.Errorf("%s: written as %q", want, dl.Evidence)
		}
	}
	wardentest.Equal(t, "codes that are read", len(lastEvidence), len(evidenceWords))
	dl := Delivery{Evidence: "UserPromptSubmit, hook 7", EvidenceCode: EvidenceEnded}
	if dl.ReadOld(); dl.EvidenceCode != "" {
		t.Errorf("evidence without a code is read as %q", dl.EvidenceCode)
	}
	dl.DecideBy(Unconfirmed, EvidenceEnded, now)
	if dl.Decide(NotSubmitted, "cancelled by the operator", now); dl.EvidenceCode != "" {
		t.Errorf("a verdict without a code has %q", dl.EvidenceCode)
	}
}

// TestHoldLastsSince: a hold that goes on keeps the time since when it lasts, and its note follows its details.
func TestHoldLastsSince(t *testing.T) {
	t.Parallel()
	began := time.Now()
	a := &Agent{}
	a.HoldBy(Hold{Kind: HoldNotRegistered, HoldDetail: HoldDetail{Limit: "1m30s"}}, began)
	a.HoldBy(Hold{Kind: HoldNotRegistered, HoldDetail: HoldDetail{Limit: "1m30s", Line: "error: no key"}}, began.Add(time.Minute))
	if !a.Hold.Since.Equal(began) || a.Note != "it did not register within 1m30s; its pane shows ‹error: no key›" {
		t.Errorf("held since %s: %s", a.Hold.Since, a.Note)
	}
	a.HoldBy(HoldDraft.Hold(), began.Add(time.Minute))
	if !a.Hold.Since.Equal(began.Add(time.Minute)) {
		t.Errorf("another hold is held since %s", a.Hold.Since)
	}
	if a.Release(); a.Hold != nil || a.Note != "" {
		t.Errorf("still held: %+v, %q", a.Hold, a.Note)
	}
}

// TestHoldKinds: each kind has one row, with words and who ends it.
func TestHoldKinds(t *testing.T) {
	t.Parallel()
	seen := map[HoldKind]bool{}
	for i := range HoldKinds {
		row := &HoldKinds[i]
		if seen[row.Kind] || row.Ends == "" || (row.Says == "") != (row.words != nil) || row.Kind.Row() != row {
			t.Errorf("%s: twice, or it does not say who ends it, or has no words, or two", row.Kind)
		}
		seen[row.Kind] = true
	}
	wardentest.Equal(t, "a kind that is not known says", (&Hold{Kind: "of a newer daemon", HoldDetail: HoldDetail{Says: "x"}}).Words(), "x")
}
