package dbtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/db/localpg"
)

func TestMissingPostgresSaysWhatToRun(t *testing.T) {
	t.Parallel()
	text := explain(fmt.Errorf("start: %w", localpg.ErrMissing))
	if !strings.Contains(text, "`go run ./cmd/understudy doctor --fix`") {
		t.Errorf("the sentence does not say what to run: %s", text)
	}
}
