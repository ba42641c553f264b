package daemon

import "time"

// AgentStop is the part of an agent about the request to stop it. Only the methods below write it, but for StopInterrupt, which the pipeline
// sets that asks for the stop.
type AgentStop struct {
	StopAskedAt   *time.Time `json:"-"` // when somebody asked the agent to stop; nil: nobody did
	StopForce     bool       `json:"-"` // the stop ladder begins with SIGTERM
	StopStage     StopStage  `json:"-"`
	StopStageAt   *time.Time `json:"-"`
	StopInterrupt bool       `json:"-"` // the stop ladder begins by interrupting the running turn
	StopYields    bool       `json:"-"` // a handoff asked for the stop; new work for the agent takes that back
}

// AskToStop asks the agent to stop: its lane climbs the ladder from the beginning. yields says that new work takes the request back.
func (a *AgentStop) AskToStop(now time.Time, yields bool) {
	a.StopAskedAt, a.StopStage, a.StopStageAt, a.StopYields = &now, StopNone, nil, yields
}

// StopAnyway keeps the request, even if the agent is given work.
func (a *AgentStop) StopAnyway() { a.StopYields = false }

// StopByForce has the ladder begin with SIGTERM. An agent that was asked in words before begins it anew.
func (a *AgentStop) StopByForce() {
	if a.StopForce {
		return
	}
	a.StopForce = true
	if a.StopStage == StopAsked || a.StopStage == StopAnswer {
		a.StopStage, a.StopStageAt = StopNone, nil
	}
}

// ClimbTo puts the agent on a rung. Its time there begins now, also if it stands there already.
func (a *AgentStop) ClimbTo(rung StopStage, now time.Time) { a.StopStage, a.StopStageAt = rung, &now }

// WithdrawStop takes the request back: the agent goes on.
func (a *AgentStop) WithdrawStop() {
	a.StopAskedAt, a.StopStage, a.StopStageAt, a.StopYields = nil, StopNone, nil, false
}

// StopStage is the rung of the stop ladder that an agent stands on. The daemon commits a rung before it has the rung's
// effect. On every rung the ladder ends when the agent's process ends.
type StopStage string

// The rungs of the stop ladder, in order. The ladder skips rungs that are not needed.
const (
	// StopNone: the agent was not asked to stop or, with StopAskedAt set, the ladder has not begun. The ladder waits for the
	// composer of an idle agent to be ready, at most readyAfter.
	StopNone StopStage = ""
	// StopBreak: Escape interrupts the running turn. When the turn has ended, StopAsked follows; after breakAfter, StopTerm.
	StopBreak StopStage = "interrupt"
	// StopAsked: the runtime's exit command is typed. If the runtime opens its exit dialog, StopAnswer follows; after
	// exit_timeout, StopTerm.
	StopAsked StopStage = "exit"
	// StopAnswer: the runtime's exit dialog is answered. After exit_timeout, StopTerm follows.
	StopAnswer StopStage = "answer"
	// StopTerm: SIGTERM is sent to the process. After killAfter, StopKill follows.
	StopTerm StopStage = "term"
	// StopKill: the pane is killed. If the pane is a person's, only the process is. After giveUpAfter, StopFailed follows.
	StopKill StopStage = "kill"
	// StopFailed: the process lives although it was killed, and a person must look. A new request to stop the agent begins
	// the ladder anew.
	StopFailed StopStage = "failed"
)
