package scripted

import (
	"cmp"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
)

// instruct tells the agent to write its handoff document.
func (r *rig) instruct() {
	r.t.Helper()
	r.prompt("Write your handoff document to " + r.document() + " now, then stop. (nonce 1234)")
}

func TestNoDocument(t *testing.T) {
	t.Parallel()
	r := ready(t, "no-document")
	r.instruct()
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	if actor.IsFile(r.document()) {
		t.Error("there is a document")
	}
}

// Each row is a behaviour, what is typed, and the hooks that come of it.
func TestHooksOfMisbehaviours(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		behaviour, keys string
		want            []string
	}{
		{"api-error", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "StopFailure"}},
		{"api-error=authentication_failed", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "StopFailure"}},
		{"child-hooks", "hello\r", []string{
			"SessionStart(startup)", "UserPromptSubmit",
			"SessionStart(startup)", "UserPromptSubmit", "Stop", "SessionEnd(other)", "Stop",
		}},
	} {
		t.Run(row.behaviour, func(t *testing.T) {
			t.Parallel()
			r := ready(t, row.behaviour)
			r.send(row.keys)
			log := r.hooks(row.want...)
			r.idle()
			if name, kind, _ := strings.Cut(row.behaviour, "="); name == "api-error" && log[2].field("error") != cmp.Or(kind, "rate_limit") {
				t.Errorf("StopFailure: %v", log[2].Payload)
			}
			if row.behaviour == "child-hooks" {
				child := log[2]
				if child.PID == log[0].PID || child.Launch != "secret" || child.SID == sessionID || child.Entry != "sdk-cli" {
					t.Errorf("the child's hook: %+v", child)
				}
			}
			if !r.alive() {
				t.Error("the agent has ended")
			}
		})
	}
}

func TestNoStop(t *testing.T) {
	t.Parallel()
	r := ready(t, "no-stop")
	r.send("hello\r")
	r.sees("Noted")
	r.idle()
	r.send("/exit\r")
	r.end(0)
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "SessionEnd(prompt_input_exit)")
}

func TestEndings(t *testing.T) {
	t.Parallel()
	t.Run("ignore-exit", func(t *testing.T) {
		t.Parallel()
		r := ready(t, "ignore-exit")
		r.send("/exit\r")
		r.sees("❯ /exit")
		r.write("behave", "") // read again at each exit
		r.send("/exit\r")
		r.end(0)
	})
	t.Run("ignore-term", func(t *testing.T) {
		t.Parallel()
		r := ready(t, "ignore-term")
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r.send("hello\r")
		r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
		if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		r.end(143)
	})
}
