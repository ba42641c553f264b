package commands

import (
	"strings"
	"testing"

	"github.com/understudyd/understudy/api"
	"github.com/understudyd/understudy/daemon"
)

// TestWhatIsNotFoundNamesTheNextCommand: an error about something that there is not leads on.
func TestWhatIsNotFoundNamesTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, code := range []daemon.Code{
		daemon.CodeAgentNotFound, daemon.CodeHandoffNotFound, daemon.CodePermissionNotFound, daemon.CodePipelineNotFound, api.CodePersonaNotFound,
	} {
		if got := hint(daemon.Errorf(daemon.KindNotFound, code, "Not found")); !strings.Contains(got, "`understudy ") {
			t.Errorf("%s: %q names no command", code, got)
		}
	}
}
