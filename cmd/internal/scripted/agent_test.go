package scripted

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/understudyd/understudy/daemon/actor"
)

func TestTurn(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("hello there\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	r.idle()
	start, prompt, stop := log[0], log[1], log[2]
	for _, l := range log {
		if l.SID != sessionID || l.field("session_id") != sessionID || l.field("cwd") != r.cwd || l.Entry != "cli" || l.Launch != "secret" {
			t.Errorf("%s: wrong session, directory or environment: %+v", l.name(), l)
		}
		equal(t, l.name()+": CLAUDE_PID", l.PID, json.Number(itoa(r.cmd.Process.Pid)).String())
	}
	if start.field("session_title") != "developer-con-1" || start.Payload["prompt_id"] != nil {
		t.Errorf("SessionStart: %v", start.Payload)
	}
	if prompt.field("prompt") != "hello there" || prompt.field("permission_mode") != "acceptEdits" {
		t.Errorf("UserPromptSubmit: %v", prompt.Payload)
	}
	if stop.Payload["stop_hook_active"] != false || stop.field("prompt_id") != prompt.field("prompt_id") || stop.field("last_assistant_message") == "" {
		t.Errorf("Stop: %v", stop.Payload)
	}
	if tasks, ok := stop.Payload["background_tasks"].([]any); !ok || len(tasks) != 0 {
		t.Errorf("Stop: background_tasks %v, want []", stop.Payload["background_tasks"])
	}
	if path := stop.field("transcript_path"); !actor.IsFile(path) {
		t.Errorf("transcript_path %s is no file", path)
	}
	var last struct {
		Type        string
		IsSidechain *bool
		Message     struct {
			Role  string
			Usage map[string]int
		}
	}
	rows := strings.Split(strings.TrimSpace(r.transcript()), "\n")
	must(t, json.Unmarshal([]byte(rows[len(rows)-1]), &last))
	if last.Type != "assistant" || last.Message.Usage["cache_read_input_tokens"] == 0 || last.IsSidechain == nil {
		t.Errorf("last entry of the transcript: %s", rows[len(rows)-1])
	}
	r.sees("\x1b]2;✳ developer-con-1")
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

func TestStopBlock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("answers/Stop", `{"decision":"block","reason":"Write the handoff document to `+r.document()+`"}`)
	r.start(r.args()...)
	r.idle()
	r.send("hello\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop", "Stop")
	if log[2].Payload["stop_hook_active"] != false || log[3].Payload["stop_hook_active"] != true {
		t.Error("stop_hook_active is not false, then true")
	}
	holds(t, "the transcript with the feedback", r.transcript(), `Stop hook feedback:\nWrite`)
	text := value(os.ReadFile(r.document()))(t)
	holds(t, "the document", string(text), "## What Was Done", "## Decisions Made", "## Open Questions", "## Next Agent Context", "hello")
}

func TestStopBlockedForEverIsOverridden(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo x >> `+r.dir+`/stops; echo again >&2; exit 2"}]}]}}`)
	r.start(r.args()...)
	r.idle()
	r.send("hello\r")
	r.sees("overridden")
	text, _ := os.ReadFile(r.dir + "/stops")
	equal(t, "Stops", strings.Count(string(text), "x"), 9)
}

func TestPromptRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("answers/UserPromptSubmit", `{"decision":"block","reason":"not now"}`)
	r.start(r.args()...)
	r.idle()
	r.prompt("draft")
	r.sees("blocked by hook: not now")
	r.sees("❯\u00a0draft")
	r.idle()
	r.send("\r")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "UserPromptSubmit", "Stop")
	equal(t, "prompt …: the refused text did not stay in the composer", log[2].field("prompt"), "draft")
}

func TestAdditionalContextReachesTheTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("answers/SessionStart", `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"you are Con"}}`)
	r.write("answers/UserPromptSubmit", `plain words`)
	system := r.write("skill.md", "the skill")
	r.start(r.args("--append-system-prompt-file", system)...)
	r.idle()
	r.send("hello\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	holds(t, "the transcript", r.transcript(), "you are Con", "plain words", "the skill")
}

func TestExits(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{"slash": "/exit\r", "word": "exit\r", "quit": "quit\r", "vi": ":wq\r", "c-c": "\x03\x03", "c-d": "\x04\x04", "stashed": "draft\x13/exit\r"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ready(t, "")
			registry := r.registry()
			if registry.PID != r.cmd.Process.Pid || registry.SessionID != sessionID || registry.Name != "developer-con-1" || registry.CWD != r.cwd {
				t.Errorf("registry: %+v", registry)
			}
			r.send(keys)
			r.end(0)
			r.hooks("SessionStart(startup)", "SessionEnd(prompt_input_exit)")
			equal(t, "the registry file is still there", r.registry().PID, 0)
		})
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := ready(t, "")
			r.send("@hold /nowhere\r")
			r.status("busy")
			r.eventually("prompt sent", func() bool { return len(r.log()) == 2 })
			must(t, r.cmd.Process.Signal(sig))
			r.end(143)
			r.hooks("SessionStart(startup)", "UserPromptSubmit", "SessionEnd(other)")
		})
	}
}

func TestEscInterruptsWithoutHook(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("@hold /nowhere\r")
	r.eventually("prompt sent", func() bool { return len(r.log()) == 2 })
	r.eventually("its hook is over", func() bool { return actor.IsFile(r.transcriptPath()) }) // before that, Esc takes the prompt back
	r.send("\x1b")
	r.sees("Interrupted")
	r.idle()
	holds(t, "the transcript", r.transcript(), "[Request interrupted by user]")
	r.send("hello\r")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "UserPromptSubmit", "Stop")
}

func TestQueuedPrompt(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("@hold " + r.dir + "/go\r")
	r.eventually("prompt sent", func() bool { return len(r.log()) == 2 })
	r.send("second\r")
	r.eventually("queued", func() bool { return len(r.log()) == 3 })
	r.write("go", "")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "UserPromptSubmit", "Stop", "Stop")
	if log[2].field("prompt_id") != log[1].field("prompt_id") || log[3].field("prompt_id") != log[1].field("prompt_id") {
		t.Error("the queued prompt and the first Stop do not carry the running turn's prompt id")
	}
	if log[4].field("prompt_id") == log[1].field("prompt_id") {
		t.Error("the second Stop carries the first turn's prompt id")
	}
}

func TestPermissionDialog(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	r.send("please @ask\r")
	r.status("waiting")
	equal(t, "waitingFor", r.registry().WaitingFor, "permission prompt")
	r.sees("Do you want to proceed?")
	r.sees("❯ 1. Yes")
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "PermissionRequest") // its process starts while the dialog is open
	r.prompt("this vanishes")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "PermissionRequest", "Stop")
	equal(t, "the tool of PermissionRequest", log[2].field("tool_name"), "Bash")
	r.idle()
	r.prompt("hello")
	log = r.hooks("SessionStart(startup)", "UserPromptSubmit", "PermissionRequest", "Stop", "UserPromptSubmit", "Stop")
	equal(t, "prompt …: the text typed into the dialog did not vanish", log[4].field("prompt"), "hello")
}

func TestPermissionByHook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outside := r.dir + "/elsewhere/handoffs/x.md"
	r.write("answers/PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`)
	r.start(r.args()...)
	r.idle()
	r.prompt("Write the handoff document to " + outside)
	r.hooks("SessionStart(startup)", "UserPromptSubmit", "PermissionRequest", "Stop")
	if !actor.IsFile(outside) {
		t.Error("the document was not written")
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	r := ready(t, "")
	document := "# Handoff from developer-con-1\n\n## Next Agent Context\n\n**Next steps:**\n\n1. Paint the shed\n"
	must(t, os.WriteFile(r.document(), []byte(document), 0o644))
	missing := strings.TrimSuffix(r.document(), ".md") + ".context.md"
	r.prompt("You are the successor of agent 7. Your predecessor wrote a handoff document to " + r.document() + ". Read it and " + missing + ", then go on.")
	log := r.hooks("SessionStart(startup)", "UserPromptSubmit", "Stop")
	holds(t, "answer", log[2].field("last_assistant_message"), "Paint the shed")
	equal(t, "the predecessor's document", string(value(os.ReadFile(r.document()))(t)), document)
}
