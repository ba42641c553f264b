package daemon

import (
	"errors"
	"fmt"
)

// Kind is the class of an [Error]. The API maps each Kind to one HTTP status.
type Kind int

// The kinds of errors.
const (
	KindInternal      Kind = iota // a fault of the daemon or of the machine: 500, and the Message is not sent
	KindInvalid                   // bad input: 400
	KindUnauthorized              // 401
	KindForbidden                 // 403
	KindNotFound                  // 404
	KindConflict                  // 409
	KindTooLarge                  // 413
	KindUnprocessable             // a well-formed request that names something that does not exist or can't be used: 422
	KindTooMany                   // the sender sends more than it may: 429
	KindUnavailable               // the same request may succeed later: 503
)

// Error is an error for people: a code for programs, and one sentence that names the fix.
type Error struct {
	Kind    Kind
	Code    Code
	Message string // one sentence
	Cause   error  // for the log alone; nil: there is none
}

// Error returns the sentence, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an [Error] without a cause.
func Errorf(kind Kind, code Code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// RefusalIn returns the refusal that err is; nil if err is none: the database is away, for example, or the daemon is at fault. Then
// nothing is decided, and another try may succeed.
func RefusalIn(err error) *Error {
	told, ok := errors.AsType[*Error](err)
	if !ok || told.Kind == KindUnavailable || told.Kind == KindInternal {
		return nil
	}
	return told
}

// Unavailable reports whether err says that something is away for a moment, for example the database.
func Unavailable(err error) bool {
	told, ok := errors.AsType[*Error](err)
	return ok && told.Kind == KindUnavailable
}

// Errors that callers compare with errors.Is.
var (
	// ErrNotFound says that a row does not exist.
	ErrNotFound = errors.New("not found")
	// ErrMoved says that another writer changed a row first. Read the row again, and decide anew.
	ErrMoved = errors.New("row was changed by another writer")
	// ErrOpenHandoff says that the agent already has a handoff that is open or past its record.
	ErrOpenHandoff = errors.New("agent has an open handoff")
	// ErrGivenWork says that an agent was not asked to exit, because it was given work.
	ErrGivenWork = errors.New("the agent was given work")
	// ErrNoRoom says that a pipeline must wait: max_running pipelines are at work on its host, or an older one waits.
	ErrNoRoom = errors.New("no room for another pipeline")
)

// Errors whose sentences scripts rely on, word for word.
var (
	ErrAgentNotFound      = Errorf(KindNotFound, CodeAgentNotFound, "Agent not found")
	ErrAgentNotActive     = Errorf(KindInvalid, CodeAgentNotActive, "Agent is not active")
	ErrAgentNoPersona     = Errorf(KindInvalid, CodeAgentNoPersona, "Agent has no persona")
	ErrAgentNoPane        = Errorf(KindInvalid, CodeAgentNoPane, "Agent has no tmux pane")
	ErrAgentStopping      = Errorf(KindConflict, CodeAgentStopping, "Agent was asked to stop")
	ErrPermissionNotFound = Errorf(KindNotFound, CodePermissionNotFound, "Permission not found")
	ErrHandoffOpen        = Errorf(KindConflict, CodeHandoffInProgress, "Handoff already in progress")
	ErrNothingToHandOff   = Errorf(KindInvalid, CodeNothingToHandOff, "Nothing to hand off (no messages yet)")
	ErrHandoffNotFound    = Errorf(KindNotFound, CodeHandoffNotFound, "Handoff not found")
	ErrWorktreeNotFound   = Errorf(KindNotFound, CodeWorktreeNotFound, "Work tree not found")
	ErrPipelineNotFound   = Errorf(KindNotFound, CodePipelineNotFound, "Pipeline not found")
)

// HostWaiting returns the error for a host whose lock a database session holds. The session may belong to a daemon that
// is dead. held describes the session.
func HostWaiting(held string) error {
	return Errorf(KindUnavailable, CodeHostWaiting,
		"The daemon waits for %s, which holds this host and says nothing: it goes on when the database ends that session, within seconds if it was this version's", held)
}
