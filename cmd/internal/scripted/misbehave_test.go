package scripted

import (
	"syscall"
	"testing"
)

// instruct tells the agent to write its handoff document.
func (r *rig) instruct() {
	r.t.Helper()
	r.prompt("Write your handoff document to " + r.document() + " now, then stop. (nonce 1234)")
}

func TestChildHooks(t *testing.T) {
	t.Parallel()
	r := ready(t, "child-hooks")
	r.send("hello\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "SessionStart(startup)", "UserPromptSubmit", "Stop", "SessionEnd(other)", "Stop")
	r.idle()
	if child := log[2]; child.PID == log[0].PID || child.Launch != "secret" || child.SID == sessionID || child.Entry != "sdk-cli" {
		t.Errorf("the child's hook: %+v", child)
	}
	if !r.alive() {
		t.Error("the agent has ended")
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
		must(t, r.cmd.Process.Signal(syscall.SIGTERM))
		r.send("hello\r")
		r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
		must(t, r.cmd.Process.Signal(syscall.SIGHUP))
		r.end(143)
	})
}
