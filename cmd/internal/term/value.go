package term

import (
	"fmt"
	"time"

	"github.com/understudyd/understudy/daemon/words"
)

// These functions print a value that may be missing, for [UI.Fields]. They return "" for a missing value, and Fields
// leaves it out.

// Text returns a text that may be missing.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Number returns an id that may be missing.
func Number(id *int64) string {
	if id == nil {
		return ""
	}
	return fmt.Sprint(*id)
}

// Stamp returns a time that may be missing.
func Stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return words.Stamp(*t)
}

// YesOrNo returns "yes" or "no".
func YesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
