package views

import (
	"fmt"

	"github.com/understudyd/understudy/daemon"
)

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
