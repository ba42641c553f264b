package handoffs

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/data"
)

// idStore is a database that gives ids.
type idStore struct{ daemon.Store }

func (idStore) NextID(context.Context, daemon.IDKind) (int64, error) { return 5, nil }

// oneDelivery is a database that has one delivery.
type oneDelivery struct {
	daemon.Store
	dl daemon.Delivery
}

func (s oneDelivery) Delivery(context.Context, int64) (daemon.Delivery, error) { return s.dl, nil }

// TestDocumentOfAnEarlierInstruction: an agent writes the document of an instruction that has failed, late, after it was asked once more. It
// is taken for the answer to the new instruction only if the agent was given no work after the document.
func TestDocumentOfAnEarlierInstruction(t *testing.T) {
	t.Parallel()
	written := time.Now().Add(-time.Hour).Truncate(time.Second)
	const never = -24 * time.Hour
	for what, c := range map[string]struct {
		asked, prompted time.Duration // after the document was written
		retrying, good  bool
	}{
		"in answer to it":    {asked: -time.Minute, prompted: time.Second, good: true}, // whether it mentions the prompt is looked at before the exit
		"earlier, no prompt": {asked: time.Minute, prompted: never, good: true},
		"earlier, a prompt":  {asked: time.Minute, prompted: time.Second},
		"a retry":            {asked: time.Minute, prompted: time.Second, retrying: true, good: true}, // which moves it aside
	} {
		dir := value(data.Open(t.TempDir()))(t)
		path := filepath.Join(dir.Handoffs("con"), "1.md")
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("# Handoff\n\nThe sheds are painted.\n"), 0o600), os.Chtimes(path, written, written)))
		asked, prompted, id := written.Add(c.asked), written.Add(c.prompted), int64(5)
		d := testFlow(engine.Config{Host: "h", Store: oneDelivery{dl: daemon.Delivery{ID: id, TypedAt: &asked}}, Data: dir, Log: slog.New(slog.DiscardHandler)})
		r := &handoffRun{d: d, ctx: t.Context(), now: time.Now(), settings: daemon.HandoffSettings{MaxDocumentBytes: 1000}, agent: &daemon.Agent{ID: 3, State: daemon.Idle, LastPromptAt: &prompted},
			h: &daemon.Handoff{ID: 2, AgentID: 3, Mode: daemon.ModeAgent, Persona: "con", FilePath: path, DeliveryID: &id, Retrying: c.retrying}}
		_, err := r.readDocument()
		var bad *data.DocumentError
		if missing := errors.As(err, &bad) && bad.Code == data.DocumentMissing; missing == c.good || err != nil && !missing {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAskingAnewSeesAHookThatCameMeanwhile: a retry asks for another document because its agent was at rest when it looked. A hook that is
// applied before that is committed, as when the old instruction is taken after all, is seen: the commit writes the agent's row as well,
// which fails if another writer was first.
func TestAskingAnewSeesAHookThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	dir := value(data.Open(t.TempDir()))(t)
	d := testFlow(engine.Config{Host: "h", Store: idStore{}, Data: dir, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)})
	a := &daemon.Agent{ID: 3, Name: "con", State: daemon.Idle}
	h := &daemon.Handoff{ID: 2, AgentID: 3, Mode: daemon.ModeAgent, Phase: daemon.Verifying, Retrying: true, Persona: "con", SourceAgent: "con", TargetAgent: "con", FilePath: dir.Persona("con") + "/handoffs/1.md"}
	r := &handoffRun{d: d, ctx: t.Context(), now: time.Now(), h: h, agent: a, settings: d.Settings().Handoff}
	if out := askAnew(r, "document_missing"); out.next != daemon.Instructing || len(out.with.Agents) != 1 || out.with.Agents[0] != a || len(out.with.NewDeliveries) != 1 {
		t.Errorf("the outcome is %+v", out)
	}
}

// TestWhoeverIsAskedAnewIsToldOfSecrets: the document that was put aside says why it is asked for once more, also to a copy of the session and
// after a crash. A forced handoff and one whose last document is clean say nothing.
func TestWhoeverIsAskedAnewIsToldOfSecrets(t *testing.T) {
	t.Parallel()
	dir := value(data.Open(t.TempDir()))(t)
	d := testFlow(engine.Config{Host: "h", Data: dir, Settings: engine.Settings{Handoff: daemon.DefaultHandoff}, Log: slog.New(slog.DiscardHandler)})
	leaked := "glsa_" + strings.Repeat("Ab3_z9Q", 6)[:41]
	for name, c := range map[string]struct {
		aside  string
		policy daemon.SecretsPolicy
		forced bool
		want   bool
	}{
		"refused": {leaked, daemon.SecretsRefuse, false, true}, "forced": {leaked, daemon.SecretsRefuse, true, false}, "warned": {leaked, daemon.SecretsWarn, false, false},
		"clean": {"Fine.", daemon.SecretsRefuse, false, false}, "none": {"", daemon.SecretsRefuse, false, false},
	} {
		h := &daemon.Handoff{Persona: "con", Focus: "the parser", Forced: c.forced, FilePath: filepath.Join(dir.Handoffs("con"), name+".md")}
		if must(t, os.MkdirAll(filepath.Dir(h.FilePath), 0o700)); c.aside != "" {
			must(t, os.WriteFile(asideOf(h), []byte("# T\n\n"+c.aside+"\n"), 0o600))
		}
		d.Settings().Handoff.Secrets = c.policy
		prompt, err := d.forkPrompt(h)
		if must(t, err); strings.Contains(prompt, "service-token in line 3") != c.want || strings.Contains(prompt, leaked) || !strings.Contains(prompt, "the parser") {
			t.Errorf("%s: %s", name, prompt)
		}
	}
}
