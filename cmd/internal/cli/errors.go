package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// UsageError is a command line that makes no sense: the program exits with code 2 and names the help.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ErrSilent ends a command with exit code 1. The command has said why itself.
var ErrSilent = errors.New("failed")

// Sentence is an error on one line. It leaves out the cause, which is for the log, and the full stop, because the caller
// puts a prefix and a hint around the sentence.
func Sentence(err error) string {
	msg := err.Error()
	var told *daemon.Error
	if errors.As(err, &told) && told.Cause != nil {
		msg = strings.TrimSuffix(msg, ": "+told.Cause.Error())
	}
	return words.TrimDot(words.Line(msg))
}
