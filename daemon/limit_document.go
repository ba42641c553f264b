package daemon

// AwaitsLimitHandoff reports whether the handoff that was decided about the agent's limit has still to be requested.
func (a *Agent) AwaitsLimitHandoff() bool {
	return a.State == Limited && a.Limit != nil && a.Limit.Do == LimitHandOver && a.Limit.HandoffID == nil
}

// NoteLimitHandoff notes the handoff that was requested because of a limit, and the runtime of its successor.
func (a *Agent) NoteLimitHandoff(id int64, runtime string) {
	l := *a.Limit
	l.HandoffID, l.Heir = &id, runtime
	a.Limit = &l
}
