package show

import (
	"cmp"
	"fmt"
	"time"

	"github.com/understudyd/understudy/cmd/internal/term"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/words"
)

// EndWords says why an agent has ended.
func EndWords(reason *string) string { return event.EndWords(cmp.Or(term.Text(reason), "-")) }

// StateCell returns an agent's state for a list, followed by why the agent needs a person. For example, an agent whose
// turns fail is not only idle. An empty need means that it needs no person.
func StateCell(g *daemon.Agent, need views.AttentionKind) string {
	if g.State == daemon.Limited && g.LimitedUntil != nil {
		until := "limited until " + clock(*g.LimitedUntil, time.Now())
		if need == views.NeedsChoice {
			until += ", asks"
		}
		return until
	}
	state, more := string(g.State), string(need)
	if g.Unread && g.State == daemon.Idle {
		state = "finished"
	}
	if mode := views.AsksNobody(g); mode != "" && more == "" && g.Trouble == nil && g.Active() {
		return fmt.Sprintf("%s (asks nobody)", state)
	}
	if g.Trouble != nil {
		more = g.Trouble.Code
	}
	if more == "" || more == state {
		return state
	}
	return fmt.Sprintf("%s, %s", state, more)
}

// clock returns a time of day, with its date if it is not within a day.
func clock(t, now time.Time) string {
	if t.Sub(now).Abs() < 24*time.Hour {
		return t.Local().Format("15:04")
	}
	return t.Local().Format("Jan 2 15:04")
}

// LimitInFull says what limit an agent has hit, and what is done about it. It returns "" if the agent is not limited.
func LimitInFull(g *daemon.Agent) string {
	if g.State != daemon.Limited || g.Limit == nil {
		return ""
	}
	return views.HasHit(g.Limit) + "; " + views.LimitWords(g)
}

// TroubleInFull says what trouble an agent has, since when, and what to do. It returns "" if the agent has no trouble.
func TroubleInFull(g *daemon.Agent) string {
	if g.Trouble == nil {
		return ""
	}
	return fmt.Sprintf("%s, since %s; %s", words.TrimDot(g.Trouble.Words()), term.Stamp(&g.Trouble.Since), views.TroubleHint(g))
}
