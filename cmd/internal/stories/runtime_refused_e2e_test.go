//go:build e2e

package stories

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/runtimes"
)

// gateHook is the command of a person's hook that refuses each prompt while the file gate exists.
func gateHook(gate string) string {
	return "if test -e '" + gate + "'; then cat '" + gate + "' >&2; exit 2; fi"
}

// writeSettings adds a hook to the person's own settings.
func writeSettings(t testing.TB, path, event, command string) {
	t.Helper()
	settings := map[string]any{}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &settings)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	all := map[string]any{}
	if old, ok := settings["hooks"].(map[string]any); ok {
		maps.Copy(all, old)
	}
	all[event] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}
	settings["hooks"] = all
	b = value(json.Marshal(settings))(t)
	must(t, os.WriteFile(path, b, 0o600))
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f := value(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	defer f.Close()
	value(f.WriteString(text))(t)
}

// closeGate has the person's hook refuse prompts.
func (r *runtimeRig) closeGate() {
	r.t.Helper()
	must(r.t, os.WriteFile(r.gate, []byte("the gate is closed"), 0o600))
}

func (r *runtimeRig) openGate() {
	r.t.Helper()
	must(r.t, os.Remove(r.gate))
}

// isRefused: another hook of the person's refuses a message, and then the instruction of a handoff. Both are told at once, with the
// reason and what to do. The model sees neither, nothing of them is left in the composer, and the next text arrives alone.
func isRefused(r *runtimeRig, a daemon.Agent) int64 {
	if r.guard == nil {
		return a.ID
	}
	r.closeGate()
	began := time.Now()
	dl := r.awaitVerdict(a.ID, r.sendMessage(a.ID, "please do this").ID, daemon.NotSubmitted)
	r.t.Logf("%s: a refused message was known after %v", r.name, time.Since(began))
	r.wantGateClosed(began, dl.Evidence)
	r.wantEmptied(a.ID)
	began = time.Now()
	h := r.awaitFailure(r.requestHandoff(a.ID), daemon.Instructing, "instruction_not_submitted")
	r.wantGateClosed(began, h.Error.Message)
	r.wantEmptied(a.ID)
	r.openGate()
	r.talk(a.ID, "the next one")
	for _, refused := range []string{"please do this", h.Ref} {
		if texts := r.inConversation(refused); len(texts) > 0 {
			r.t.Errorf("the model was told %q", texts)
		}
	}
	r.wantOnce("the next one")
	return a.ID
}

// wantGateClosed fails unless the words name the hook's reason and came at once.
func (r *runtimeRig) wantGateClosed(began time.Time, words string) {
	r.t.Helper()
	if took := time.Since(began); took > 4*refusedAtOnce || !strings.Contains(words, "the gate is closed") {
		r.t.Errorf("known after %v, by %q; want it at once, with the reason", took, words)
	}
}

// wantEmptied waits until the agent is idle with an empty composer.
func (r *runtimeRig) wantEmptied(agentID int64) {
	r.t.Helper()
	r.awaitState(agentID, daemon.Idle)
	r.awaitEvery(tickOfScreens, "an empty composer", func() (bool, string) {
		shown := r.shown(agentID)
		s := r.rt.ReadScreen(runtimes.View{Text: shown})
		return s.Composer && s.Draft == "" && !s.Stashed, shown
	})
}

// refusedAtOnce is within what time a refused prompt must be known.
const refusedAtOnce = 5 * time.Second
