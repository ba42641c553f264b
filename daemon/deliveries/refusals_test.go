package deliveries

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/runtimes/claude"
	"github.com/understudyd/understudy/hooks"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// TestRefusalBeforeTheEnd: a text that was refused was submitted once more, and no other refusal came before its agent ended.
func TestRefusalBeforeTheEnd(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Hour)
	path := filepath.Join(t.TempDir(), "transcript")
	line := fmt.Sprintf(`{"type":"system","subtype":"informational","timestamp":%q,"uuid":"u","content":"UserPromptSubmit operation blocked by hook:\nno\n\nOriginal prompt: look"}`+"\n", at.Format(time.RFC3339))
	wardentest.Must(t, os.WriteFile(path, []byte(line), 0o600))
	a, typed := &daemon.Agent{ID: 3, Runtime: "claude", AgentSession: daemon.AgentSession{TranscriptPath: &path}}, at.Add(-time.Minute)
	for heard, refused := range map[time.Duration]bool{-time.Second: true, time.Second: true, time.Minute: false} {
		dl := &daemon.Delivery{State: daemon.DeliveryTyped, TypedAt: &typed, Way: runtimes.ByTyping, Text: "look"}
		dl.Hear(9, at.Add(heard))
		if why := refusalOf(testCourier(engine.Config{Host: "h", Log: slog.New(slog.DiscardHandler)}), a, dl); (why != "") != refused {
			t.Errorf("heard %s after the refusal: %q", heard, why)
		}
	}
}

// TestTakenPromptIsNotRefused: Gemini CLI writes that a hook has blocked, and Codex that a turn has ended without an answer, also about
// a prompt that it has taken. Then the transcript has the prompt.
func TestTakenPromptIsNotRefused(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Minute)
	const question, nonce = "how is the house?", "[handoff_a_b_1_c0]"
	const ours = nonce + " understudy: hand over"
	gemini := func(after time.Duration, text string) string {
		return `{"id":"u","timestamp":"` + began.Add(after).UTC().Format(time.RFC3339Nano) + `","type":"user","content":[{"text":"` + text + `"}]}` + "\n"
	}
	codex := func(after time.Duration, text string) string {
		return `{"timestamp":"` + began.Add(after).UTC().Format(time.RFC3339Nano) + `","type":"response_item","payload":{"type":"message","role":"user",` +
			`"content":[{"type":"input_text","text":"` + text + `"}]}}` + "\n"
	}
	open := []daemon.Delivery{{ID: 1, Kind: daemon.KindPrompt, Text: ours, Nonce: nonce, State: daemon.DeliveryTyped, TypedAt: &began, Heard: 7, HeardAt: &began}}
	for name, c := range map[string]struct {
		runtime, transcript, body string
		ok                        bool
		event                     string
		open                      []daemon.Delivery
	}{
		"Gemini, refused":    {"gemini", gemini(-time.Second, question), `{"reason":"the gate is closed"}`, true, hooks.PromptRefused, nil},
		"Gemini, held":       {"gemini", gemini(time.Second, question), `{"reason":"the gate is closed"}`, false, "", nil},
		"Gemini, keeps it":   {"gemini", gemini(time.Second, question), `{"reason":"the gate is closed","kept":true}`, true, hooks.PromptRefused, nil},
		"Codex, refused":     {"codex", "", `{"prompt_id":"t"}`, true, hooks.PromptRefused, nil},
		"Codex, no answer":   {"codex", codex(time.Second, question), `{"prompt_id":"t"}`, true, hooks.Notification, nil},
		"Codex, one earlier": {"codex", codex(-time.Second, question), `{"prompt_id":"t"}`, true, hooks.PromptRefused, nil},
		"Codex, ours":        {"codex", codex(time.Second, ours), `{"prompt_id":"t"}`, true, hooks.Notification, open},
		"Codex, not ours":    {"codex", "", `{"prompt_id":"t"}`, true, hooks.PromptRefused, open},
		"Gemini, ours":       {"gemini", gemini(time.Second, ours), `{"reason":"the gate is closed"}`, false, "", open},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "transcript")
			wardentest.Must(t, os.WriteFile(path, []byte(c.transcript), 0o600))
			d := testCourier(engine.Config{Host: "h", Store: openOnly{open: c.open}, Log: slog.New(slog.DiscardHandler)})
			a := &daemon.Agent{ID: 3, Runtime: c.runtime, AgentSession: daemon.AgentSession{TranscriptPath: &path}, CreatedAt: began.Add(-time.Hour), StateAt: began}
			p := wardentest.Value(hooks.Parse(hooks.PromptRefused, []byte(c.body)))(t)
			r, ok, err := readRefusal(t.Context(), d, a, runtimes.Report{Event: hooks.PromptRefused, Body: []byte(c.body)}, p, nil)
			if err != nil || ok != c.ok || ok && r.Event != c.event {
				t.Errorf("it is the report %s %s, %v; want %s, %v", r.Event, r.Body, ok, c.event, c.ok)
			}
		})
	}
}

// TestRefusedTextWasTakenAfterAll: a text that another hook has refused stands in the composer again, and a person submits it with words of
// their own behind it. The transcript has that prompt behind the refusal, whatever the times say.
func TestRefusedTextWasTakenAfterAll(t *testing.T) {
	t.Parallel()
	const user = `{"type":"user","timestamp":"2026-03-04T05:06:07Z","message":{"role":"user","content":%q}}` + "\n"
	const refusal = `{"type":"system","subtype":"informational","timestamp":"2026-03-04T05:06:07Z",` +
		`"content":"UserPromptSubmit operation blocked by hook:\nclosed\n\nOriginal prompt: [ref] hand over"}` + "\n"
	queue := func(operation string) string {
		return fmt.Sprintf(`{"type":"queue-operation","operation":%q,"timestamp":"2026-03-04T05:06:07Z","content":"[ref] hand over and look at the sheds"}`+"\n", operation)
	}
	typed := time.Now()
	for name, c := range map[string]struct {
		nonce, behind string
		want          bool
	}{
		"queued":             {"[ref]", queue("enqueue"), true},
		"queued, no nonce":   {"", queue("enqueue"), true},
		"behind another one": {"[ref]", queue("enqueue") + `{"type":"queue-operation","operation":"dequeue","timestamp":"2026-03-04T05:06:08Z"}` + "\n", true},
		"taken out again":    {"[ref]", queue("enqueue") + queue("popAll"), false},
		"taken":              {"[ref]", fmt.Sprintf(user, "[ref] hand over and look at the sheds"), true},
		"taken, no nonce":    {"", fmt.Sprintf(user, "[ref] hand over"), true},
		"with more":          {"", fmt.Sprintf(user, "[ref] hand over and look at the sheds"), true},
		"another prompt":     {"[ref]", fmt.Sprintf(user, "look at the sheds"), false},
		"nothing behind it":  {"[ref]", "", false},
		"a part of it alone": {"", fmt.Sprintf(user, "[ref] hand"), false},
	} {
		open := []daemon.Delivery{{ID: 4, AgentID: 3, Kind: daemon.KindInstruction, State: daemon.DeliveryTyped, TypedAt: &typed, Way: runtimes.ByTyping, Text: "[ref] hand over", Nonce: c.nonce}}
		p := hooks.Payload{Event: hooks.PromptRefused, Prompt: "[ref] hand over"}
		equal(t, name, takenBehind(claude.Runtime, open, p, []byte(refusal+c.behind), typed), c.want)
	}
	p := hooks.Payload{Event: hooks.PromptRefused, Prompt: "[ref] hand over"} // the prompt of a step, which is no delivery
	if !takenBehind(claude.Runtime, nil, p, []byte(refusal+fmt.Sprintf(user, "[ref] hand over and look at the sheds")), typed) {
		t.Error("a prompt that is no delivery")
	}
}

// openOnly is a database that knows the open deliveries alone.
type openOnly struct {
	daemon.Store
	open []daemon.Delivery
}

func (s openOnly) OpenDeliveries(context.Context, int64) ([]daemon.Delivery, error) {
	return s.open, nil
}
