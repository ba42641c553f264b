//go:build e2e

package stories

import (
	"slices"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux"
	"github.com/understudyd/understudy/tmux/tmuxtest"
)

// BenchmarkRuntime compares a successor's start, from its row to the moment when it has taken its prompt, with the start of
// the same CLI alone, from its pane to the moment when its screen takes a prompt. Both are measured in turn. With -short,
// only Claude Code is measured. Run it with
//
//	go test -tags e2e -run '^$' -bench BenchmarkRuntime -benchtime 5x ./cmd/internal/stories
func BenchmarkRuntime(b *testing.B) {
	for _, c := range runtimeCases {
		if testing.Short() && c.name != "claude" {
			continue // the starts of the others are most of the time
		}
		b.Run(c.name, func(b *testing.B) {
			r := newRuntimeRig(b, c)
			server := tmuxtest.Server(b)
			a := r.newAgent("")
			var alone, heir, whole []time.Duration
			for b.Loop() {
				alone = append(alone, r.startAlone(server))
				h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
				a = awaitTakeover(r.rig, h)
				heir, whole = append(heir, h.CompletedAt.Sub(a.CreatedAt)), append(whole, h.CompletedAt.Sub(h.CreatedAt))
			}
			quantiles(b, "alone", alone) // quantiles sorts them
			quantiles(b, "successor", heir)
			quantiles(b, "handoff", whole)
			b.ReportMetric(float64(median(heir))/float64(median(alone)), "ratio")
		})
	}
}

// startAlone starts the CLI as a person would, and returns how long it takes until its composer is shown.
func (r *runtimeRig) startAlone(server *tmux.Server) time.Duration {
	r.t.Helper()
	began := time.Now()
	argv := slices.Concat([]string{"env", "-i"}, r.environ, r.command)
	pane := value(server.Spawn(r.t.Context(), tmux.Spec{Session: "alone", Dir: r.rig.work, Argv: argv, Width: 120, Height: 40}))(r.t)
	var took time.Duration
	r.awaitEvery(10*time.Millisecond, r.name+" alone", func() (bool, string) {
		shown, err := server.Capture(r.t.Context(), 0, false, pane.Ref)
		if err != nil {
			return false, err.Error()
		}
		took = time.Since(began)
		text := shown[pane.Pane]
		return r.rt.ReadScreen(runtimes.View{Text: text}).Composer, text
	})
	must(r.t, server.Kill(r.t.Context(), pane.Ref))
	return took
}
