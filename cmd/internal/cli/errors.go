package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
)

// UsageError means that the command line is wrong. The program prints how to get help, and exits with code 2.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ErrSilent ends a command with exit code 1 and prints nothing, because the command has already printed the reason.
var ErrSilent = errors.New("failed")

// Sentence returns an error as one line. It leaves out the cause, which is for the log. It also leaves out the full
// stop, because the caller puts a prefix and a hint around the sentence.
func Sentence(err error) string {
	msg := err.Error()
	var told *daemon.Error
	if errors.As(err, &told) && told.Cause != nil {
		msg = strings.TrimSuffix(msg, ": "+told.Cause.Error())
	}
	return words.TrimDot(words.Line(msg))
}
