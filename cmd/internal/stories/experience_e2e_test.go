//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon/event"
)

// TestALongExperienceStopsNobody: an agent has written more than a session can be given. The next one starts all the same, and the operator is
// told, once.
func TestALongExperienceStopsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	value(r.dir.Seed())(t)
	must(t, os.WriteFile(filepath.Join(r.dir.Persona(con), "experience.md"), []byte(strings.Repeat("- Mind the roof.\n", 200_000)), 0o600))
	r.start()
	r.startAgent(con)
	r.startAgent(con)
	if told := r.eventsWhere(func(e event.Event) bool { return e.Type == event.ExperienceCut }); len(told) != 1 || !strings.Contains(string(told[0].Payload), "understudy persona edit "+con+" --experience") {
		t.Errorf("told %+v", told)
	}
}
