package views

import (
	"cmp"
	"fmt"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/words"
)

// budgetNext names the two ways in which a person lets an agent go on that is held.
func budgetNext(a *daemon.Agent) string {
	return fmt.Sprintf("let the persona's agents go on for today with `understudy persona go-on %s`, or raise the budget in its skill.md", a.PersonaSlug())
}

// AnswerWith names the commands by which a person answers what an agent waits for.
func AnswerWith(a *daemon.Agent) string {
	switch {
	case !a.HasPane():
		return fmt.Sprintf("`understudy agent show %d`", a.ID)
	case a.WaitsFor == daemon.WaitsForFg, !AnswersDialog(a):
		return fmt.Sprintf("`understudy agent attach %d`", a.ID)
	}
	return fmt.Sprintf("`understudy agent dialog %d`, or in its pane, `understudy agent attach %[1]d`", a.ID)
}

// AnswersDialog reports whether what an agent waits for may be answered from elsewhere than its pane.
func AnswersDialog(a *daemon.Agent) bool {
	rt, err := catalog.For(a.Runtime) // the generic CLIs have no dialogs that can be read
	return err == nil && rt.AnswersDialog(a.WaitsFor)
}

// QueuedWords says why a text for the agent g is not typed yet. It returns "" if the text has left the queue.
func QueuedWords(d *daemon.Delivery, g *daemon.Agent) string {
	switch {
	case d.State != daemon.DeliveryQueued:
		return ""
	case !g.Active():
		return fmt.Sprintf("agent %d has handed over; its successor gets the text after its briefing", g.ID)
	case daemon.WhyBusy(g) == daemon.HoldDialog:
		return fmt.Sprintf("a dialog is open in agent %d's pane: answer it with `understudy agent attach %[1]d`", g.ID)
	case daemon.WhyBusy(g) == daemon.HoldTurn:
		return fmt.Sprintf("agent %d is in a turn; it gets the text when the turn ends", g.ID)
	case g.Hold.Is(daemon.HoldBudget):
		return g.Hold.Words() + ": " + budgetNext(g)
	case g.Hold == nil && g.State == daemon.Starting:
		return fmt.Sprintf("agent %d is starting", g.ID)
	case g.Hold == nil && g.Trouble != nil:
		return fmt.Sprintf("agent %d is in trouble: %s", g.ID, g.Trouble.Words())
	}
	return g.Note
}

// AsksNobody returns the agent's permission mode if the runtime asks no person for a permission in it, as Claude Code in its
// mode auto; "": it asks now, or may, or the mode is not known.
func AsksNobody(a *daemon.Agent) string {
	mode := cmp.Or(a.SessionMode, a.PermissionMode)
	rt, err := catalog.For(a.Runtime)
	if err != nil || a.State == daemon.Waiting || rt.Widths[mode] < runtimes.WidthAuto {
		return ""
	}
	return mode
}

// ContextWords says how full a window is; "", if u is nil. If the size of the window is not known, ContextWords gives the tokens in use.
func ContextWords(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil:
		return words.Tokens(u.Tokens) + " tokens"
	case u.Tier == daemon.TierWarn || u.Tier == daemon.TierHigh:
		return words.Percent(*u.Percent) + " " + string(u.Tier)
	}
	return words.Percent(*u.Percent)
}

// ContextInFull says how full a window is, with the numbers of tokens; "", if u is nil.
func ContextInFull(u *daemon.ContextUse) string {
	switch {
	case u == nil:
		return ""
	case u.Percent == nil || u.Limit == nil:
		return ContextWords(u) + " of a window whose size is not known"
	}
	return fmt.Sprintf("%s, %s of %s tokens", ContextWords(u), words.Tokens(u.Tokens), words.Tokens(*u.Limit))
}

// PermissionOutcome says in a few words what has become of the permission; "": it is still asked for.
func PermissionOutcome(p *daemon.Permission) string {
	who := p.AnsweredBy
	if p.From != "" {
		who += ", " + p.From
	}
	switch {
	case p.State == daemon.PermissionOpen:
		return ""
	case p.State == daemon.PermissionPane, p.State == daemon.PermissionUnanswered:
		return p.Note
	case p.State == daemon.PermissionLost:
		return fmt.Sprintf("%s (%s), but %s", verdictWords(p.Verdict), who, p.Note)
	}
	said := fmt.Sprintf("%s (%s)", verdictWords(p.Verdict), who)
	if p.Sentence != "" {
		said += ": " + p.Sentence
	}
	return said
}

func verdictWords(v daemon.PermissionVerdict) string {
	switch v {
	case daemon.Allow:
		return "allowed once"
	case daemon.AllowAgent:
		return "allowed for this agent"
	}
	return "denied"
}
