package daemon

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/understudyd/understudy/data"
)

// idStore is a database that gives ids.
type idStore struct{ Store }

func (idStore) NextID(context.Context, IDKind) (int64, error) { return 5, nil }

// TestAskingAnewSeesAHookThatCameMeanwhile: a retry asks for another document because its agent was at rest when it looked. A hook that is
// applied before that is committed, as when the old instruction is taken after all, is seen: the commit writes the agent's row as well,
// which fails if another writer was first.
func TestAskingAnewSeesAHookThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	dir, err := data.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := New(Config{Host: "h", Store: idStore{}, Data: dir, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)})
	a := &Agent{ID: 3, Name: "con", State: Idle}
	h := &Handoff{ID: 2, AgentID: 3, Mode: ModeAgent, Phase: Verifying, Retrying: true, Persona: "con", SourceAgent: "con", TargetAgent: "con", FilePath: dir.Persona("con") + "/handoffs/1.md"}
	r := &handoffRun{d: d, ctx: t.Context(), now: time.Now(), h: h, agent: a, settings: d.Settings().Handoff}
	if out := r.askAnew("document_missing"); out.next != Instructing || len(out.with.Agents) != 1 || out.with.Agents[0] != a || len(out.with.NewDeliveries) != 1 {
		t.Errorf("the outcome is %+v", out)
	}
}
