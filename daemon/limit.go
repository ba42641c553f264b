package daemon

import (
	"cmp"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes"
)

// LimitKind says what keeps an agent's turns from ending well.
type LimitKind string

// The kinds of limits.
const (
	LimitUsage   LimitKind = "usage"   // the usage limit of the account
	LimitContext LimitKind = "context" // the context window is full, and the runtime could not compact
	LimitAPI     LimitKind = "api"     // the API has failed for longer than LimitSettings.APITimeout
)

// LimitAction says what is done about an agent's limit.
type LimitAction string

// What can be done about a limit.
const (
	LimitUndecided LimitAction = ""          // the agent's lane decides by the policy
	LimitWait      LimitAction = "wait"      // the work goes on after the reset
	LimitHandOver  LimitAction = "hand_over" // the work goes on with a successor on another runtime
	LimitAsk       LimitAction = "ask"       // a person decides
)

// LimitActions returns the actions that a policy may name.
func LimitActions() []LimitAction { return []LimitAction{LimitWait, LimitHandOver, LimitAsk} }

// Limit is a limit that a runtime has reported in place of the end of a turn, and what is done about it. It begins with the
// report, and ends with the next turn that ends well. While a turn runs in between, TriedAt is set. A limit without TriedAt on
// an agent that works is that of an API: the daemon is about to end the turn, because the runtime would try again without end.
type Limit struct {
	Kind  LimitKind   `json:"kind"`
	Since time.Time   `json:"since"`
	Until *time.Time  `json:"until"` // when the limit ends; nil: the runtime did not say it
	Do    LimitAction `json:"do"`
	By    string      `json:"by"`    // who decided Do: LimitByPolicy or LimitByOperator; "": nobody yet
	Why   string      `json:"why"`   // why a person is asked, if the policy says otherwise; "": the policy says so
	Waits int         `json:"waits"` // how many times in a row the agent has waited before, and hit the limit again
	// Runtime is the runtime that the operator chose for the successor; "": the first of the policy's fallback that is not
	// limited.
	Runtime    string     `json:"runtime"`
	ResumingAt *time.Time `json:"resuming_at"` // when the runtime said that it goes on by itself
	TriedAt    *time.Time `json:"tried_at"`    // when the next turn began
	DeliveryID *int64     `json:"delivery_id"` // the prompt after the reset; it is queued once for each limit
	HandoffID  *int64     `json:"handoff_id"`  // the handoff of the decision; it is requested once for each decision
	Heir       string     `json:"heir"`        // the runtime of that handoff's successor
}

// AgentLimit is the part of an agent about the limit that its runtime has reported.
type AgentLimit struct {
	Limit        *Limit     `json:"limit" db:"in_limit"` // what limit it has hit, and what is done about it; nil: none
	LimitedUntil *time.Time `json:"limited_until"`       // while State is Limited: when the limit ends; nil: not known

	// LimitTriedAt is when the first turn after the agent's last limit began. A step's time begins anew with it.
	LimitTriedAt *time.Time `json:"-"`
}

// The values of [Limit.By].
const (
	LimitByPolicy   = "policy"
	LimitByOperator = "operator"
)

// LimitSettings are the policy for agents whose persona has none, and what holds for all agents.
type LimitSettings struct {
	OnLimit    LimitAction   `yaml:"on_limit"`
	Fallback   []string      `yaml:"fallback"` // the runtimes of successors, the best first
	MaxWaits   int           `yaml:"-"`        // how many times in a row an agent waits before a person is asked
	APITimeout time.Duration `yaml:"-"`        // how long the API may fail before the policy applies
}

// DefaultLimits has the defaults of config.yaml.
var DefaultLimits = LimitSettings{OnLimit: LimitAsk, MaxWaits: 3, APITimeout: 10 * time.Minute}

// AtRest reports whether no turn runs and no dialog is open: the agent is idle or limited. A text that is typed now begins a
// turn.
func (a *Agent) AtRest() bool { return a.State == Idle || a.State == Limited }

// Rest returns the state of an agent at rest.
func (a *Agent) Rest() AgentState {
	if a.Limit != nil && a.Limit.TriedAt == nil {
		return Limited
	}
	return Idle
}

// ReachLimit notes that the runtime has ended a turn because of a limit. If the limit is one that the agent has hit before,
// and it cannot have ended since, what was decided about it stays.
func (a *AgentLimit) ReachLimit(kind LimitKind, until *time.Time, now time.Time) {
	next := Limit{Kind: kind, Since: now, Until: until}
	if was := a.Limit; was != nil && was.Kind == kind {
		if !was.past(now) {
			next = *was
			next.TriedAt, next.Until = nil, cmp.Or(until, was.Until)
		} else if next.Waits = was.Waits; was.Do == LimitWait {
			next.Waits++
		}
	}
	a.Limit, a.LimitedUntil = &next, next.Until
}

// ReachLimitInTurn is [Agent.ReachLimit] while the turn still runs: only its end makes the agent limited.
func (a *AgentLimit) ReachLimitInTurn(kind LimitKind, until *time.Time, now time.Time) {
	a.ReachLimit(kind, until, now)
	a.LimitedUntil = nil
}

// BeginTimeAnew has the time of the agent's step begin anew, because the agent goes on only now.
func (a *AgentLimit) BeginTimeAnew(now time.Time) { a.LimitTriedAt = &now }

// past reports whether a limit may have ended: its time is over, or the work went on because somebody thought so.
func (l *Limit) past(now time.Time) bool {
	return l.DeliveryID != nil || l.ResumingAt != nil || l.Until != nil && !now.Before(*l.Until)
}

// tryLimit notes that a turn has begun, which may end the limit. [Agent.Be] calls it.
func (a *AgentLimit) tryLimit(now time.Time) {
	a.LimitedUntil = nil
	if a.Limit != nil && a.Limit.TriedAt == nil {
		tried := *a.Limit
		tried.TriedAt = &now
		a.Limit, a.LimitTriedAt = &tried, &now
	}
}

// Interrupt notes that somebody has interrupted the running turn, and returns the state of the agent then. If the limit
// cannot have ended yet, the turn has not shown that it has: the agent is limited as before, and what was decided stays.
func (a *Agent) Interrupt(now time.Time) AgentState {
	a.ForgetStop()
	if a.Ending() && a.Trouble != nil {
		a.FailTurn(*a.Trouble)
	}
	if l := a.Limit; l != nil && (l.TriedAt == nil || !l.past(now)) { // without TriedAt the daemon has ended the turn: see endRetries
		again := *l
		again.TriedAt, a.Limit, a.LimitedUntil = nil, &again, l.Until
	}
	return a.Rest()
}

// PassLimit forgets the limit of an agent whose model has answered in the turn that tries whether the limit is over.
func (a *AgentLimit) PassLimit() {
	if a.Limit != nil && a.Limit.TriedAt != nil {
		a.EndLimit()
	}
}

// EndLimit forgets the limit: a turn has ended well, or with an error that is no limit.
func (a *AgentLimit) EndLimit() { a.Limit, a.LimitedUntil = nil, nil }

// LimitKind returns the kind of the limit that a failed turn reports; "": it is none. An API that fails is a limit only after
// APITimeout, which the agent's lane watches; from then on each further failure is one.
func (a *AgentLimit) LimitKind(code string) LimitKind {
	switch {
	case code == runtimes.UsageLimit:
		return LimitUsage
	case code == runtimes.ContextFull:
		return LimitContext
	case runtimes.APIFails(code) && a.Limit != nil && a.Limit.Kind == LimitAPI:
		return LimitAPI
	}
	return ""
}

// ReasonLimit is the reason of a handoff that the daemon requests for an agent with a limit.
const ReasonLimit = "usage_limit"

const (
	// UnknownReset is how long a limit is taken to last if the runtime did not say it.
	UnknownReset = time.Hour
	// LimitLook is how long a lane waits at most before it looks at a limit again. A timer does not go on while the machine
	// sleeps.
	LimitLook = time.Minute
)

// AwaitsLimitHandoff reports whether the handoff that was decided about the agent's limit has still to be requested.
func (a *Agent) AwaitsLimitHandoff() bool {
	return a.State == Limited && a.Limit != nil && a.Limit.Do == LimitHandOver && a.Limit.HandoffID == nil
}

// NoteLimitHandoff notes the handoff that was requested because of a limit, and the runtime of its successor.
func (a *AgentLimit) NoteLimitHandoff(id int64, runtime string) {
	l := *a.Limit
	l.HandoffID, l.Heir = &id, runtime
	a.Limit = &l
}
