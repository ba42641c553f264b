package daemon

import (
	"errors"
	"fmt"
)

// Kind is the class of an [Error]; the API maps each to one HTTP status.
type Kind int

// The kinds of errors that people can get to see.
const (
	KindInternal      Kind = iota // a fault of ours or of the machine: 500, the sentence is withheld
	KindInvalid                   // bad input: 400
	KindUnauthorized              // 401
	KindForbidden                 // 403
	KindNotFound                  // 404
	KindConflict                  // 409
	KindTooLarge                  // 413
	KindUnprocessable             // well-formed, but names something that is not there: 422
	KindUnavailable               // 503, try again
)

// Error is an error for people: a code for machines and one sentence that names the fix. The
// cause is for the log only.
type Error struct {
	Kind    Kind
	Code    Code
	Message string // one sentence
	Cause   error
}

// Error returns the sentence, followed by the cause where there is one.
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

// Sentinels that callers branch on.
var (
	// ErrNotFound says that a row does not exist.
	ErrNotFound = errors.New("not found")
	// ErrMoved says that another writer changed a row first: read it again and decide anew.
	ErrMoved = errors.New("row was changed by another writer")
	// ErrOpenHandoff says that the agent already has a handoff that is open or past its record.
	ErrOpenHandoff = errors.New("agent has an open handoff")
	// ErrNoRoom says that a run must wait: as many as may be are at work, or an older one waits.
	ErrNoRoom = errors.New("no room for another pipeline")
)

// The answers of the contract, word for word.
var (
	errAgentNotFound    = Errorf(KindNotFound, CodeAgentNotFound, "Agent not found")
	errAgentNotActive   = Errorf(KindInvalid, CodeAgentNotActive, "Agent is not active")
	errAgentNoPersona   = Errorf(KindInvalid, CodeAgentNoPersona, "Agent has no persona")
	errAgentNoPane      = Errorf(KindInvalid, CodeAgentNoPane, "Agent has no tmux pane")
	errAgentStopping    = Errorf(KindConflict, CodeAgentStopping, "Agent was asked to stop")
	errHandoffOpen      = Errorf(KindConflict, CodeHandoffInProgress, "Handoff already in progress")
	errNothingToHandOff = Errorf(KindInvalid, CodeNothingToHandOff, "Nothing to hand off (no messages yet)")
	errHandoffNotFound  = Errorf(KindNotFound, CodeHandoffNotFound, "Handoff not found")
	errPipelineNotFound = Errorf(KindNotFound, CodePipelineNotFound, "Pipeline not found")
)
