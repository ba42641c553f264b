package daemon

// GoesOnFrom takes over what is true of the session that the agent opens again until its first turn there: what it said last, how
// full its context is, and whether the operator has seen its last turn. ContextStart begins anew, so that no automatic handoff comes
// before the agent has done something. It is launched as old was, so its mode is taken to be the same until a hook tells it.
func (a *Agent) GoesOnFrom(old *Agent) {
	a.LastMessage, a.Context, a.SessionMode = old.LastMessage, old.Context, old.SessionMode
	if old.PipelineID == nil {
		a.Unread, a.FinishedAt = old.Unread, old.FinishedAt
	}
	if old.Hold.Is(HoldBrokeOff) && old.Hold.AgentID == 0 {
		a.HoldBy(Hold{Kind: HoldBrokeOff, HoldDetail: HoldDetail{AgentID: old.ID}}, a.CreatedAt)
	}
}

// ConversationGone reports whether it is known of an ended agent that its session cannot be opened again.
func (a *Agent) ConversationGone() bool { return !a.Active() && a.Hold.Is(HoldNoConversation) }

// HasSession reports whether an agent has a session that may be opened again once the agent has ended.
func (a *Agent) HasSession() bool {
	return a.SessionID != nil && a.RegisteredAt != nil && !a.ConversationGone()
}
