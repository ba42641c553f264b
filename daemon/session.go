package daemon

import (
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/hooks"
)

// AgentSession is the part of an agent about its runtime's session, and the directory in which that works.
type AgentSession struct {
	SessionID      *string `json:"session_id"`
	TranscriptPath *string `json:"transcript_path"`
	Cwd            string  `json:"cwd"`        // where its session works, as its own hooks tell
	StartCwd       string  `json:"start_cwd"`  // where its session began, once it has moved; "": it works there still
	Repository     string  `json:"repository"` // the name of the git repository that Cwd is in; "": none, or nobody has looked yet
	Branch         string  `json:"branch"`     // what is checked out there: a branch, or the first digits of a commit

	// Base is the state in which the agent found its working directory; nil: it was not looked at.
	Base *worktree.Base `json:"-"`
	// StartBase is Base of StartCwd, for when the session moves back.
	StartBase *worktree.Base `json:"-"`
}

// SetSession notes the runtime's session, which may change while the agent lives. A report that names no session leaves it
// as it is.
func (a *AgentSession) SetSession(p hooks.Payload) {
	if session := p.SessionID; session != "" {
		a.SessionID = &session
	}
	if p.TranscriptPath != "" {
		path := p.TranscriptPath
		a.TranscriptPath = &path
	}
}

// LearnSession is [Agent.SetSession] for what is not known of the session yet.
func (a *AgentSession) LearnSession(p hooks.Payload) {
	if a.SessionID != nil {
		p.SessionID = ""
	}
	if a.TranscriptPath != nil {
		p.TranscriptPath = ""
	}
	a.SetSession(p)
}

// BeginSession notes the session that the agent is launched with; "": the runtime tells its id later.
func (a *AgentSession) BeginSession(id string) {
	a.SessionID = nil
	a.SetSession(hooks.Payload{SessionID: id})
}

// MoveTo notes that the agent's session works in another directory. What changes there counts from the state in which the
// agent finds it, which its lane records; where the session began, from the state in which the agent found that.
func (a *AgentSession) MoveTo(dir string) {
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
func (a *AgentSession) FindBase(base *worktree.Base) { a.Base = base }

// ConversationGone reports whether it is known of an ended agent that its session cannot be opened again.
func (a *Agent) ConversationGone() bool { return !a.Active() && a.Hold.Is(HoldNoConversation) }

// HasSession reports whether an agent has a session that may be opened again once the agent has ended.
func (a *Agent) HasSession() bool {
	return a.SessionID != nil && a.RegisteredAt != nil && !a.ConversationGone()
}

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
