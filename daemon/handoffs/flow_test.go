package handoffs

import (
	"log/slog"
	"testing"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestMoveOutsideTheTableIsRefused: a move that is not in the table is an error, and nothing is written.
func TestMoveOutsideTheTableIsRefused(t *testing.T) {
	t.Parallel()
	d := testFlow(engine.Config{Host: "h", Store: nil, Log: slog.New(slog.DiscardHandler)})
	r := &handoffRun{d: d, ctx: t.Context(), h: &daemon.Handoff{ID: 7, Phase: daemon.Requested}, agent: &daemon.Agent{ID: 1}}
	wardentest.WantErr(t, "a move that is not in the table", r.move(moveTo(daemon.Completed, "a mistake", daemon.Change{})), "knows no move")
}

// TestNoAgentLetsSecretsPass: force of an agent lets no document with secrets pass. At a full context nobody could be asked again.
func TestNoAgentLetsSecretsPass(t *testing.T) {
	t.Parallel()
	d := testFlow(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)})
	for _, policy := range []daemon.SecretsPolicy{daemon.SecretsWarn, daemon.SecretsRefuse} {
		d.Settings().Handoff.Secrets = policy
		for _, in := range []HandoffRequest{{Force: true}, {Force: true, ForLimit: true}, {Force: true, Self: true}, {Force: true, Auto: true}, {}} {
			if got, want := d.forced(&in), in.Force && (policy == daemon.SecretsWarn || !in.Self); got != want {
				t.Errorf("%s, %+v: forced %t", policy, in, got)
			}
		}
	}
}
