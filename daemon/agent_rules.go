package daemon

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// LearnAccount notes the account of a session that a person has started, unless it is known.
func (a *Agent) LearnAccount(account *runtimes.Account) {
	if a.Account == nil && !a.Managed {
		a.Account = account
	}
}

// NoteLost notes on the row of an agent that is about to be launched which secrets of its account are lost. It returns what tells the
// operator; nil: none is lost.
func (a *Agent) NoteLost(lost []string) map[string]any {
	if a.Account == nil || len(lost) == 0 && len(a.Account.Lost) == 0 {
		return nil
	}
	account := *a.Account // its predecessor's row may refer to the same one
	account.Lost = append([]string{}, lost...)
	if a.Account = &account; len(lost) == 0 {
		return nil
	}
	return map[string]any{"code": CodeAccountLost, "names": lost, "message": fmt.Sprintf(
		"Agent %d (%s) is started without %s, by which its line had an account of its own: nobody knows the value any more. Log in within its pane "+
			"(`understudy agent attach %[1]d`), or end it and open the session with the variables set in a pane of your own.", a.ID, a.Name, strings.Join(lost, ", "))}
}

// Measured reports whether an agent's transcript says how full its context is: no status line and no hook has said it.
func (a *Agent) Measured() bool {
	return a.TranscriptPath != nil && (a.Context == nil || a.Context.Source == FromTranscript)
}

func (a *Agent) Started() bool { return a.Active() && !a.Launching() }

func (a *Agent) Stopping() bool { return a.Started() && a.StopAskedAt != nil }

// NotStopping reports whether an agent has begun, has not ended, and was not asked to stop.
func (a *Agent) NotStopping() bool { return a.Started() && a.StopAskedAt == nil }

// HasSkillSince notes when the agent's session got the skill of its persona.
func (a *Agent) HasSkillSince(at time.Time) { a.SkillInjectedAt = &at }

// APIFails reports whether an agent's last turn ended because the API did not answer, and no limit was noted for that.
func (a *Agent) APIFails() bool {
	return a.State == Idle && a.Limit == nil && a.Trouble != nil && a.TurnError != "" && runtimes.APIFails(a.Trouble.Code)
}

// Ending reports whether the daemon has decided to end the running turn, because the API has failed for too long.
func (a *Agent) Ending() bool {
	return a.State == Working && a.Limit != nil && a.Limit.Kind == LimitAPI && a.Limit.TriedAt == nil
}

// NoteAnswered notes that the dialog for which the agent waited before its session is gone.
func (a *Agent) NoteAnswered(now time.Time) {
	a.AnsweredAt = &now
}

// AsksBeforeSession reports whether a dialog is open in the agent's pane and its session has not begun.
func (a *Agent) AsksBeforeSession() bool { return a.State == Waiting && a.RegisteredAt == nil }

// TurnOver reports whether the agent has ended a turn of its own work, was given no work since, and has no task of its own left
// that makes it go on.
func (a *Agent) TurnOver() bool { return a.WorkDone() && a.BackgroundTasks == 0 }

// WorkDone is TurnOver for an agent that may have background tasks.
func (a *Agent) WorkDone() bool {
	return a.WorkStop > 0 && a.WorkStop > a.LastPrompt && (a.State == Idle && a.StopCameAt == nil || !a.Active())
}

// UnreadUntil reports whether the agent is unread, and has finished no turn after the time until. The store keeps
// microseconds, and so does JSON.
func (a *Agent) UnreadUntil(until time.Time) bool {
	return a.Unread && a.Active() && a.FinishedAt != nil && !a.FinishedAt.Truncate(time.Microsecond).After(until)
}

// The limits of a pane's size. On a smaller screen the daemon would miss the texts that it looks for; a larger screen costs
// memory.
const (
	MinColumns, MaxColumns = 80, 500
	MinRows, MaxRows       = 24, 200
)

// PaneSize returns the size of a new pane for a terminal of the given size: the terminal's size, within the limits.
func PaneSize(columns, rows int) (int, int) {
	return min(max(columns, MinColumns), MaxColumns), min(max(rows, MinRows), MaxRows)
}

// WaitsForFg is the WaitsFor of an agent that a signal has stopped.
const WaitsForFg = "`fg` in its pane: it was stopped there, as by Ctrl-Z"

// PaneShows stands in a sentence before what a pane shows. The sentence begins with why the agent has ended, or does
// nothing.
const PaneShows = "; its pane shows "

const (
	MaxWaitsFor    = 200 // runes
	MaxLastMessage = 600 // runes
	maxAsked       = 600 // runes
)

// WhyBusy returns why an agent is not at rest, as its row tells; "": it is at rest.
func WhyBusy(a *Agent) HoldKind {
	switch {
	case a.State == Waiting:
		return HoldDialog
	case a.State == Working:
		return HoldTurn
	case !a.AtRest(): // it starts
		return HoldNotReady
	}
	return ""
}

// BeingEnded reports whether the stop ladder has the agent and its pane: it types the exit command, and answers the dialogs after it.
func BeingEnded(a *Agent) bool { return a.StopAskedAt != nil && a.StopStage != StopFailed }

// LaunchSecret returns the launch secret in an environment; "": there is none.
func LaunchSecret(environ []string) string {
	for _, v := range environ {
		if secret, ok := strings.CutPrefix(v, "UNDERSTUDY_LAUNCH="); ok {
			return secret
		}
	}
	return ""
}

// LaunchHash returns the SHA-256 of a launch secret. The database stores it instead of the secret.
func LaunchHash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
