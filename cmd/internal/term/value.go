package term

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/words"
)

// The values of an answer that may be missing, as [UI.Fields] takes them: a missing value is empty, so that it is left out.

// Text is a text that may be missing.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Number is an id that may be missing.
func Number(id *int64) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}

// Stamp is a time that may be missing.
func Stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return words.Stamp(*t)
}

// YesOrNo is a truth value.
func YesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
