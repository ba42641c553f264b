package daemon

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/catalog"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux"
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

// budgetNext names the two ways in which a person lets an agent go on that is held.
func (a *Agent) budgetNext() string {
	return fmt.Sprintf("let the persona's agents go on for today with `understudy persona go-on %s`, or raise the budget in its skill.md", a.PersonaSlug())
}

// Measured reports whether an agent's transcript says how full its context is: no status line and no hook has said it.
func (a *Agent) Measured() bool {
	return a.TranscriptPath != nil && (a.Context == nil || a.Context.Source == FromTranscript)
}

// TurnSince reports whether a hook tells of a turn since a text was typed.
func (a *Agent) TurnSince(dl *Delivery) bool {
	return a.LastPrompt > dl.AfterHook || a.LastStop > dl.AfterHook
}

func (a *Agent) Started() bool { return a.Active() && !a.Launching() }

func (a *Agent) Stopping() bool { return a.Started() && a.StopAskedAt != nil }

// NotStopping reports whether an agent has begun, has not ended, and was not asked to stop.
func (a *Agent) NotStopping() bool { return a.Started() && a.StopAskedAt == nil }

func (a *Agent) Ended() bool { return !a.Active() }

// MoveTo notes that the agent's session works in another directory. What changes there counts from the state in which the
// agent finds it, which its lane records; where the session began, from the state in which the agent found that.
func (a *Agent) MoveTo(dir string) {
	switch {
	case dir == a.StartCwd:
		a.Base, a.StartCwd, a.StartBase = a.StartBase, "", nil
	case a.StartCwd == "":
		a.StartCwd, a.StartBase, a.Base = a.Cwd, a.Base, nil
	default:
		a.Base = nil
	}
	a.Cwd = dir
}

// FindBase notes the state in which the agent has found its working directory.
func (a *Agent) FindBase(base *worktree.Base) { a.Base = base }

// HasSkillSince notes when the agent's session got the skill of its persona.
func (a *Agent) HasSkillSince(at time.Time) { a.SkillInjectedAt = &at }

func (a *Agent) SetPane(p *tmux.PaneInfo) {
	pane := p.Pane
	a.Pane, a.PaneSocket, a.PaneServerPID, a.PaneServerStart = &pane, p.Socket, p.ServerPID, p.ServerStart
}

// SetSession notes the runtime's session, which may change while the agent lives. A report that names no session leaves it
// as it is.
func (a *Agent) SetSession(p hooks.Payload) {
	if session := p.SessionID; session != "" {
		a.SessionID = &session
	}
	if p.TranscriptPath != "" {
		path := p.TranscriptPath
		a.TranscriptPath = &path
	}
}

// APIFails reports whether an agent's last turn ended because the API did not answer, and no limit was noted for that.
func (a *Agent) APIFails() bool {
	return a.State == Idle && a.Limit == nil && a.Trouble != nil && a.TurnError != "" && runtimes.APIFails(a.Trouble.Code)
}

// LimitOrTrouble says what keeps an agent from its work.
func (a *Agent) LimitOrTrouble() string {
	if a.Limit == nil {
		return "gets an error from its API"
	}
	return a.Limit.What()
}

// WantsGoOn reports whether the agent still needs the prompt after the reset. It does not if it has gone on by itself, or if
// a person has prompted it.
func (a *Agent) WantsGoOn(dl *Delivery) bool {
	return a.State == Limited && a.Limit != nil && a.Limit.DeliveryID != nil && *a.Limit.DeliveryID == dl.ID
}

// Ending reports whether the daemon has decided to end the running turn, because the API has failed for too long.
func (a *Agent) Ending() bool {
	return a.State == Working && a.Limit != nil && a.Limit.Kind == LimitAPI && a.Limit.TriedAt == nil
}

// Cancellable reports whether the operator can cancel a delivery to the agent now.
func (a *Agent) Cancellable(dl *Delivery) bool { return CheckCancel(a, dl) == nil }

// CheckCancel refuses to cancel a text that is not the operator's to cancel, or that has left the queue.
func CheckCancel(a *Agent, dl *Delivery) error {
	switch {
	case dl.Kind != KindMessage && dl.Kind != KindCommand:
		return Errorf(KindConflict, CodeNotAMessage, "Delivery %d is no message but %s of the daemon: it cannot be cancelled", dl.ID, dl.Kind)
	case a.StepID != nil && a.StartedWith(dl):
		return Errorf(KindConflict, CodeNotAMessage, "Delivery %d is the prompt of a step: abort it with `understudy pipeline abort %d`", dl.ID, *a.PipelineID)
	case dl.Verdict != nil:
		return Errorf(KindConflict, CodeMessageTaken, "Delivery %d can no longer be cancelled: it is %s (%s)", dl.ID, *dl.Verdict, dl.Evidence)
	case dl.State != DeliveryQueued:
		return Errorf(KindConflict, CodeMessageTaken, "Delivery %d can no longer be cancelled: it is being typed", dl.ID)
	}
	return nil
}

// Passable reports whether a text is a message that a successor can get. The prompt of a step is none: the pipeline itself
// sees to it that the step's agent gets that.
func (a *Agent) Passable(dl *Delivery) bool {
	return dl.Kind == KindMessage && dl.State == DeliveryQueued && (a.StepID == nil || !a.StartedWith(dl))
}

// NoPaneError refuses what needs the pane of an agent that has none. In the background it says how to get one.
func (a *Agent) NoPaneError() error {
	if a.Hold.Is(HoldInBackground) {
		return Errorf(KindInvalid, CodeAgentNoPane, "Agent has no tmux pane: %s", a.Hold.Words())
	}
	return ErrAgentNoPane
}

// LearnSession is [Agent.SetSession] for what is not known of the session yet.
func (a *Agent) LearnSession(p hooks.Payload) {
	if a.SessionID != nil {
		p.SessionID = ""
	}
	if a.TranscriptPath != nil {
		p.TranscriptPath = ""
	}
	a.SetSession(p)
}

// BeginSession notes the session that the agent is launched with; "": the runtime tells its id later.
func (a *Agent) BeginSession(id string) {
	a.SessionID = nil
	a.SetSession(hooks.Payload{SessionID: id})
}

// LeavePane notes that the agent's session goes on without a pane.
func (a *Agent) LeavePane(now time.Time) {
	a.Pane = nil
	a.HoldBy(HoldInBackground.Hold(), now)
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

// EndedWithServer reports whether an agent ended with its tmux server, as all do when the machine goes down.
func (a *Agent) EndedWithServer() bool {
	return a.Died() && a.EndCode == EndedByServer
}

// UnreadUntil reports whether the agent is unread, and has finished no turn after the time until. The store keeps
// microseconds, and so does JSON.
func (a *Agent) UnreadUntil(until time.Time) bool {
	return a.Unread && a.Active() && a.FinishedAt != nil && !a.FinishedAt.Truncate(time.Microsecond).After(until)
}

// AnswerWith names the commands by which a person answers what an agent waits for.
func (a *Agent) AnswerWith() string {
	switch {
	case !a.HasPane():
		return fmt.Sprintf("`understudy agent show %d`", a.ID)
	case a.WaitsFor == WaitsForFg, !AnswersDialog(a):
		return fmt.Sprintf("`understudy agent attach %d`", a.ID)
	}
	return fmt.Sprintf("`understudy agent dialog %d`, or in its pane, `understudy agent attach %[1]d`", a.ID)
}

// AnswersDialog reports whether what an agent waits for may be answered from elsewhere than its pane.
func AnswersDialog(a *Agent) bool {
	rt, err := catalog.For(a.Runtime) // the generic CLIs have no dialogs that can be read
	return err == nil && rt.AnswersDialog(a.WaitsFor)
}

// IsNameOf reports whether FreeName has made a name from a persona's slug, so that nobody has given it.
func IsNameOf(name, slug string) bool {
	number, numbered := strings.CutPrefix(name, slug+"-")
	n, err := strconv.Atoi(number)
	return name == slug || numbered && err == nil && n > 1
}

var notPlain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// PlainName makes a name of a-z, 0-9 and - with at most limit bytes.
func PlainName(name string, limit int) string {
	name = strings.Trim(notPlain().ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(name) > limit {
		name = strings.Trim(name[:limit], "-")
	}
	return cmp.Or(name, "agent")
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
