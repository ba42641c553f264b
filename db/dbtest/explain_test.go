package dbtest

import (
	"fmt"
	"testing"

	"github.com/understudyd/understudy/db/localpg"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

func TestMissingPostgresSaysWhatToRun(t *testing.T) {
	t.Parallel()
	text := explain(fmt.Errorf("start: %w", localpg.ErrMissing))
	wardentest.Holds(t, "what to run", text, "`go run ./cmd/understudy doctor --fix`")
}
