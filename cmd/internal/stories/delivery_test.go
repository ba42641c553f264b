package stories

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
)

// TestVerdictNamesItsEvidence: The verdict rests on the runtime's confirmation, or on the transcript if no
// confirmation comes.
func TestVerdictNamesItsEvidence(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent("")
		dl := r.awaitVerdict(a.ID, r.sendMessage(a.ID, "first\nof two lines").ID, daemon.Submitted)
		if !strings.Contains(dl.Evidence, "UserPromptSubmit") || dl.Attempts != 1 || dl.TypedAt == nil || dl.DecidedAt == nil {
			t.Errorf("delivery %+v: want it confirmed by the hook", dl)
		}
		r.misbehave("no-prompt-hook")
		dl = r.awaitVerdict(a.ID, r.sendMessage(a.ID, "second").ID, daemon.Submitted)
		if strings.Contains(dl.Evidence, "UserPromptSubmit") {
			t.Errorf("evidence %q of an agent that reports no prompts", dl.Evidence)
		}
		r.wantTold(a.ID, "first\nof two lines", "second")

		release := r.holdTurn(a.ID, "@say done")
		defer release()
		last := r.sendMessage(a.ID, "never read")
		r.stopAgent(a.ID, true)
		r.awaitVerdict(a.ID, last.ID, daemon.NotSubmitted)
		r.awaitState(a.ID, daemon.Ended)
		r.awaitDeliveryCount(1, daemon.KindMessage, daemon.NotSubmitted)
	})
}

// TestMessageThatIsMoreThanTextIsRefused: Text that does more than a plain prompt is refused with a sentence, and not
// typed.
func TestMessageThatIsMoreThanTextIsRefused(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent("")
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
		dl := r.sendMessage(a.ID, "what is /clear for?")
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		r.wantTold(a.ID, "what is /clear for?")
	})
}

// TestCommandMessageIsTyped: A text that is meant as a command is typed, and changes the session in the pane.
func TestCommandMessageIsTyped(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent(con)
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

// TestCommandThatIsDrawnLate: a busy runtime draws a pasted command after three seconds. Until Enter was pressed for it, an empty composer
// does not show that the command has left it.
func TestCommandThatIsDrawnLate(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.bendWith(&bend{paste: func(_ context.Context, _ string, do func() error) error {
			go func() {
				<-time.After(3 * time.Second)
				_ = do() // the story shows whether the text came
			}()
			return nil
		}})
		r.start()
		a := r.startAgent(con)
		dl, err := r.client.SendMessage(t.Context(), a.ID, "/clear", true)
		if err != nil {
			t.Fatal(err)
		}
		r.awaitVerdict(a.ID, dl.ID, daemon.Submitted)
		if now := r.getAgent(a.ID); *now.SessionID == *a.SessionID {
			t.Errorf("submitted although the command stands in the composer, or will:\n%s", r.shown(a.ID))
		}
	})
}

// TestMessagesAreTypedInOrder: Texts wait until the agent is idle. Each is then a turn of its own, in their order.
func TestMessagesAreTypedInOrder(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		a := r.startAgent("")
		release := r.holdTurn(a.ID, "long work")
		var want []string
		var ids []int64
		for i := range 5 {
			text := fmt.Sprintf("message %d", i)
			want = append(want, text)
			ids = append(ids, r.sendMessage(a.ID, text).ID)
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

func TestFirstPromptWaitsForRegistration(t *testing.T) {
	story(t, func(t *testing.T, r *rig) {
		r.start()
		r.misbehave("slow-start=300ms")
		a := r.createAgent(agents.NewAgent{Cwd: r.work, Prompt: "begin here", Name: "worker"})
		more := r.sendMessage(a.ID, "and then this")
		r.awaitVerdict(a.ID, more.ID, daemon.Submitted)
		r.wantTold(a.ID, "begin here", "and then this")
		if now := r.getAgent(a.ID); now.Name != "worker" || now.Persona != nil || now.SkillInjectedAt != nil {
			t.Errorf("agent %+v: want a worker without a persona", now)
		}
	})
}
