package scripted

import (
	"cmp"
	"os"
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

func TestDocuments(t *testing.T) {
	t.Parallel()
	for behaviour, check := range map[string]func(*testing.T, *rig, os.FileInfo){
		"no-document": func(t *testing.T, r *rig, info os.FileInfo) {
			if info != nil {
				t.Error("there is a document")
			}
		},
		"empty-document": func(t *testing.T, r *rig, info os.FileInfo) {
			if info == nil || info.Size() != 0 {
				t.Errorf("want an empty file: %v", info)
			}
		},
		"blank-document": func(t *testing.T, r *rig, info os.FileInfo) {
			text, err := os.ReadFile(r.document())
			if err != nil || len(text) == 0 || strings.TrimSpace(string(text)) != "" {
				t.Errorf("want white space, have %q, %v", text, err)
			}
		},
		"directory-document": func(t *testing.T, r *rig, info os.FileInfo) {
			if info == nil || !info.IsDir() {
				t.Errorf("want a directory: %v", info)
			}
		},
		"symlink-document": func(t *testing.T, r *rig, info os.FileInfo) {
			target, err := os.Readlink(r.document())
			if err != nil || !strings.HasPrefix(target, r.cwd) {
				t.Errorf("link to %q, %v", target, err)
			}
		},
		"huge-document=950000": func(t *testing.T, r *rig, info os.FileInfo) {
			if info == nil || info.Size() != 950000 {
				t.Errorf("want 950000 bytes: %v", info)
			}
		},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			r := ready(t, behaviour)
			r.instruct()
			r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
			info, _ := os.Lstat(r.document())
			check(t, r, info)
		})
	}
}

func TestLateDocument(t *testing.T) {
	t.Parallel()
	r := ready(t, "late-document=600ms")
	r.instruct()
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	if actor.IsFile(r.document()) {
		t.Error("the document was there before its time")
	}
	r.eventually("document", func() bool { return actor.IsFile(r.document()) })
}

// Each row is a behaviour, what is typed, and the hooks that come of it.
func TestHooksOfMisbehaviours(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		behaviour, keys string
		want            []string
	}{
		{"no-session-start", "hello\r", []string{"UserPromptSubmit", "Stop"}},
		{"no-prompt-hook", "hello\r", []string{"SessionStart(startup)", "Stop"}},
		{"stop-twice", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "Stop", "Stop"}},
		{"api-error", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "StopFailure"}},
		{"api-error=authentication_failed", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "StopFailure"}},
		{"slow-start=50ms", "hello\r", []string{"SessionStart(startup)", "UserPromptSubmit", "Stop"}},
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

func TestSwallowEnter(t *testing.T) {
	t.Parallel()
	r := ready(t, "swallow-enter")
	r.prompt("hello")
	r.sees("❯\u00a0hello")
	if n := len(r.log()); n != 1 {
		t.Fatalf("submitted by the first Enter: %v", r.order())
	}
	r.send("\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	if got := log[1].field("prompt"); got != "hello" {
		t.Errorf("prompt %q", got)
	}
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	t.Run("crash-on-instruction", func(t *testing.T) {
		t.Parallel()
		r := ready(t, "crash-on-instruction")
		r.instruct()
		r.end(1)
		r.hooks("SessionStart(startup)", "UserPromptSubmit")
	})
	t.Run("crash-at-start", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.write("behave", "crash-at-start")
		r.start(r.args()...)
		r.end(1)
		r.hooks()
	})
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
	t.Run("exit-dialog", func(t *testing.T) {
		t.Parallel()
		r := ready(t, "exit-dialog")
		r.send("/exit\r")
		r.sees("❯ 1. Exit and stop tasks")
		r.status("waiting")
		r.send("\r")
		r.end(0)
		r.hooks("SessionStart(startup)", "SessionEnd(prompt_input_exit)")
	})
	t.Run("exit-delay", func(t *testing.T) {
		t.Parallel()
		r := ready(t, "exit-delay=1h")
		r.send("/exit\r")
		r.hooks("SessionStart(startup)", "SessionEnd(prompt_input_exit)")
		if !r.alive() {
			t.Error("the process did not wait")
		}
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		r.end(0)
	})
}
