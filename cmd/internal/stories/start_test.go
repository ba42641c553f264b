package stories

import (
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestImpossibleStartIsRefused: There is neither a row nor a pane.
func TestImpossibleStartIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	for _, name := range []string{"7", "self", "list", "show", "--help", " x", "x "} {
		_, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Persona: "developer-con-1", Cwd: r.work, Name: name})
		wantCode(t, err, "bad_name")
	}
	for _, size := range [][2]int{{79, 40}, {501, 40}, {100, 23}, {100, 201}, {-1, 0}, {0, -1}} {
		_, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Cwd: r.work, Columns: size[0], Rows: size[1]})
		wantCode(t, err, "bad_size")
	}
	a := r.startAgent("developer-con-1")
	_, err := r.client.ArchivePersona(t.Context(), "developer-con-1")
	wantCode(t, err, "persona_played")
	if got := r.awaitAgent(a.ID, "idle", func(a daemon.Agent) bool { return a.State == daemon.Idle }); got.PersonaSlug() != "developer-con-1" {
		t.Errorf("agent %+v lost its persona", got)
	}
}
