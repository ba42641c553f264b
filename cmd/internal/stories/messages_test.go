package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/understudyd/understudy/daemon"
)

// TestMessageVerdicts: a text's verdict rests on the runtime's own confirmation, or on what the
// transcript shows when that does not come.
func TestMessageVerdicts(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.agent("")
		dl := r.awaitVerdict(a.ID, r.send(a.ID, "first\nof two lines").ID, daemon.Submitted)
		if !strings.Contains(dl.Evidence, "UserPromptSubmit") || dl.Attempts != 1 || dl.TypedAt == nil || dl.DecidedAt == nil {
			t.Errorf("delivery %+v: want it confirmed by the hook", dl)
		}
		r.misbehave("no-prompt-hook")
		dl = r.awaitVerdict(a.ID, r.send(a.ID, "second").ID, daemon.Submitted)
		if strings.Contains(dl.Evidence, "UserPromptSubmit") {
			t.Errorf("evidence %q of an agent that reports no prompts", dl.Evidence)
		}
		r.wantTold(a.ID, "first\nof two lines", "second")

		release := r.hold(a.ID, "@say done")
		defer release()
		last := r.send(a.ID, "never read")
		if _, err := r.client.StopAgent(t.Context(), a.ID, true); err != nil {
			t.Fatal(err)
		}
		r.awaitVerdict(a.ID, last.ID, daemon.NotSubmitted)
		r.awaitState(a.ID, daemon.Ended)
		r.countsDeliveries(1, daemon.KindMessage, daemon.NotSubmitted)
	})
}

// TestMessageRefused: what would do more than be read is refused with a sentence, and nothing is
// typed.
func TestMessageRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.agent("")
		for _, text := range []string{"/clear", "  /exit", "!rm -rf x", "exit", "quit", ":wq"} {
			_, err := r.client.SendMessage(t.Context(), a.ID, text, false)
			wantCode(t, err, "text_is_command")
		}
		for _, text := range []string{"a\x1b[201~b", "\x03", "a\x00b", "a\rb", "", " \n\t"} {
			_, err := r.client.SendMessage(t.Context(), a.ID, text, false)
			wantCode(t, err, "bad_text")
		}
		_, err := r.client.SendMessage(t.Context(), a.ID, strings.Repeat("x", 64<<10+1), false)
		wantCode(t, err, "text_too_long")
		r.wantKinds(a.ID)
		dl := r.send(a.ID, "what is /clear for?")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.wantTold(a.ID, "what is /clear for?")
	})
}

// TestMessageCommand: a command that is meant as one is typed, and changes the session in the pane.
func TestMessageCommand(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.agent(con)
		dl, err := r.client.SendMessage(t.Context(), a.ID, "/clear", true)
		if err != nil {
			t.Fatal(err)
		}
		if dl.Kind != daemon.KindCommand {
			t.Errorf("kind %s, want command", dl.Kind)
		}
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.awaitAgent(a.ID, "another session", func(now daemon.Agent) bool { return *now.SessionID != *a.SessionID })
	})
}

// TestMessageOrder: texts wait until the agent is idle and come one by one, in order; each is a
// turn of its own.
func TestMessageOrder(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.agent("")
		release := r.hold(a.ID, "long work")
		var want []string
		var ids []int64
		for i := range 5 {
			text := fmt.Sprintf("message %d", i)
			want = append(want, text)
			ids = append(ids, r.send(a.ID, text).ID)
		}
		r.wantTold(a.ID, "long work")
		r.wantComposer(a.ID, "")
		release()
		for _, id := range ids {
			r.awaitVerdict(a.ID, id, daemon.Submitted)
		}
		r.wantTold(a.ID, append([]string{"long work"}, want...)...)
	})
}

// TestPromptAtStart: an agent's first prompt waits until it has registered.
func TestPromptAtStart(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		r.misbehave("slow-start=300ms")
		a, err := r.client.CreateAgent(t.Context(), daemon.NewAgent{Cwd: r.work, Prompt: "begin here", Name: "worker"})
		if err != nil {
			t.Fatal(err)
		}
		more := r.send(a.ID, "and then this")
		r.awaitVerdict(a.ID, more.ID, daemon.Submitted)
		r.wantTold(a.ID, "begin here", "and then this")
		if now := r.getAgent(a.ID); now.Name != "worker" || now.Persona != nil || now.SkillInjectedAt != nil {
			t.Errorf("agent %+v: want a worker without a persona", now)
		}
	})
}
