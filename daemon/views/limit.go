package views

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/words"
)

// LimitOrTrouble says what keeps an agent from its work.
func LimitOrTrouble(a *daemon.Agent) string {
	if a.Limit == nil {
		return "gets an error from its API"
	}
	return HasHit(a.Limit)
}

// untilWords says when a limit ends, in UTC; "": that is not known.
func untilWords(l *daemon.Limit) string {
	if l.Until == nil || l.Kind == daemon.LimitAPI {
		return ""
	}
	return " until " + l.Until.UTC().Format("Jan 2 15:04 UTC")
}

// HasHit says of an agent what limit it has hit.
func HasHit(l *daemon.Limit) string {
	switch l.Kind {
	case daemon.LimitContext:
		return "has filled its context window and cannot compact it"
	case daemon.LimitAPI:
		return "gets nothing but errors from its API"
	}
	return "has hit a usage limit" + untilWords(l)
}

// LimitWords says what is done about the limit of an agent, without a full stop; "": the agent is not limited.
func LimitWords(a *daemon.Agent) string {
	l := a.Limit
	if a.State != daemon.Limited || l == nil {
		return ""
	}
	switch {
	case l.Do == daemon.LimitWait && l.Kind == daemon.LimitAPI:
		return "it tries again by itself"
	case l.Do == daemon.LimitWait && l.Until == nil && l.ResumingAt == nil && !l.Since.IsZero():
		return "its runtime does not say when the limit ends, so it tries again by itself at " + l.Since.Add(daemon.UnknownReset).UTC().Format("Jan 2 15:04 UTC")
	case l.Do == daemon.LimitWait:
		return "it goes on by itself after the reset"
	case l.Do == daemon.LimitHandOver && l.HandoffID != nil:
		return fmt.Sprintf("it is handed over: `understudy handoff show %d`", *l.HandoffID)
	case l.Do == daemon.LimitHandOver:
		return "it is handed over"
	case l.Do == daemon.LimitUndecided:
		return "what is done about it is being decided"
	}
	choose := fmt.Sprintf("`understudy agent limit %d --hand-over` gives its work to a successor", a.ID)
	switch l.Kind {
	case daemon.LimitUsage:
		choose = fmt.Sprintf("`understudy agent limit %d --wait` has it go on after the reset, ", a.ID) + choose
	case daemon.LimitAPI:
		choose = fmt.Sprintf("`understudy agent limit %d --wait` has it try again, ", a.ID) + choose
	}
	if l.Why != "" {
		return l.Why + "; " + choose
	}
	return choose
}

// LimitChoices returns what a person can decide about the agent's limit; nil: it is not limited, or is being handed over.
func LimitChoices(a *daemon.Agent) []daemon.LimitAction {
	l := a.Limit
	switch {
	case a.State != daemon.Limited || l == nil || l.Do == daemon.LimitUndecided || l.Do == daemon.LimitHandOver:
		return nil
	case l.Do == daemon.LimitWait || l.Kind == daemon.LimitContext:
		return []daemon.LimitAction{daemon.LimitHandOver}
	}
	return []daemon.LimitAction{daemon.LimitWait, daemon.LimitHandOver}
}

// TroubleHint says what to do about an agent's trouble, without a full stop; "": it is in none.
func TroubleHint(a *daemon.Agent) string {
	if a.Trouble == nil {
		return ""
	}
	if hint := LimitWords(a); hint != "" {
		return hint
	}
	if a.Trouble.Retrying {
		return "its runtime tries again by itself"
	}
	switch a.Trouble.Code {
	case runtimes.UsageLimit:
		return fmt.Sprintf("after the reset Claude Code may go on by itself: look with `understudy agent attach %d`, else `understudy agent send %[1]d \"Go on\"`", a.ID)
	case runtimes.Unauthenticated:
		return fmt.Sprintf("log in with /login in its pane: `understudy agent attach %d`", a.ID)
	case runtimes.Billing:
		return fmt.Sprintf("put the account's billing right, then `understudy agent send %d \"Go on\"`", a.ID)
	case runtimes.UnknownModel:
		return fmt.Sprintf("choose another model with /model in its pane: `understudy agent attach %d`", a.ID)
	case runtimes.InvalidRequest, runtimes.OutputLimit:
		return fmt.Sprintf("the same again would fail again: look at it with `understudy agent attach %d`", a.ID)
	}
	return fmt.Sprintf("have it try again in a while: `understudy agent send %d \"Go on\"`", a.ID)
}

// TroubleWords returns the sentence of the event about an agent's trouble.
func TroubleWords(a *daemon.Agent) string {
	text := ""
	if a.Trouble.Message != "" {
		text = " " + words.Quote(a.Trouble.Message)
	}
	if a.State == daemon.Limited {
		return fmt.Sprintf("Agent %d (%s) %s%s.", a.ID, a.Name, HasHit(a.Limit), text)
	}
	return fmt.Sprintf("Agent %d (%s) is in trouble, %s%s: %s.", a.ID, a.Name, words.Of(a.Trouble.Code), text, TroubleHint(a))
}
