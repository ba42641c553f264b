//go:build e2e

package stories

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// toy is a CLI that understudy does not know. Its start costs next to nothing.
const toy = "toy"

func toySettings(t testing.TB) serve.RuntimeSettings {
	t.Helper()
	script := value(filepath.Abs(filepath.Join("testdata", "toy.sh")))(t)
	return serve.RuntimeSettings{Command: []string{"sh", script}, Ready: `^toy> `, Exit: "exit", Quiet: time.Second}
}

// TestGenericRuntime: A CLI that understudy does not know is supervised by its screen: it gets its skill and messages,
// writes its document, is ended and has a successor that gets the skill first and the handoff second.
func TestGenericRuntime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Settings.Runtimes = map[string]serve.RuntimeSettings{toy: toySettings(t)}
	r.start()
	a := r.createAgent(agents.NewAgent{Persona: "developer-con-1", Cwd: r.work, Runtime: toy})
	r.awaitAgent(a.ID, "its skill", func(a daemon.Agent) bool { return a.SkillInjectedAt != nil && a.State == daemon.Idle })
	dl := r.sendMessage(a.ID, "first line\nsecond line")
	r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
	r.awaitShown(a.ID, "ok: first line second line")
	r.awaitState(a.ID, daemon.Idle)

	h := r.awaitPhase(r.requestHandoff(a.ID), daemon.Completed)
	holds(t, "the document", string(value(os.ReadFile(h.FilePath))(t)), "The toy was asked things")
	old, next := r.getAgent(a.ID), r.getAgent(*h.SuccessorID)
	if old.Active() || next.Runtime != toy || next.SkillInjectedAt == nil || next.SkillInjectedAt.After(*h.CompletedAt) {
		t.Errorf("outgoing %+v\nsuccessor %+v", old, next)
	}
	kinds := []daemon.DeliveryKind{}
	for _, dl := range r.deliveries(next.ID) {
		kinds = append(kinds, dl.Kind)
	}
	if len(kinds) != 2 || kinds[0] != daemon.KindSkill || kinds[1] != daemon.KindPrompt {
		t.Errorf("the successor was given %v", kinds)
	}
}
