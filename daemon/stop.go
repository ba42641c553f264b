package daemon

import "time"

// Only this file writes where an agent stands on the stop ladder, but for StopInterrupt, which the pipeline sets that asks for the stop.

// AskToStop asks the agent to stop: its lane climbs the ladder from the beginning. yields says that new work takes the request back.
func (a *Agent) AskToStop(now time.Time, yields bool) {
	a.StopAskedAt, a.StopStage, a.StopStageAt, a.StopYields = &now, StopNone, nil, yields
}

// StopAnyway keeps the request, even if the agent is given work.
func (a *Agent) StopAnyway() { a.StopYields = false }

// StopByForce has the ladder begin with SIGTERM. An agent that was asked in words before begins it anew.
func (a *Agent) StopByForce() {
	if a.StopForce {
		return
	}
	a.StopForce = true
	if a.StopStage == StopAsked || a.StopStage == StopAnswer {
		a.StopStage, a.StopStageAt = StopNone, nil
	}
}

// ClimbTo puts the agent on a rung. Its time there begins now, also if it stands there already.
func (a *Agent) ClimbTo(rung StopStage, now time.Time) { a.StopStage, a.StopStageAt = rung, &now }

// WithdrawStop takes the request back: the agent goes on.
func (a *Agent) WithdrawStop() {
	a.StopAskedAt, a.StopStage, a.StopStageAt, a.StopYields = nil, StopNone, nil, false
}
